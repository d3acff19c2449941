"""Shells with OpenSSH's own server and client."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.harness.master_double import MasterDouble
from tests.interactive.conftest import Running, Starter, patched
from tests.interactive.contained import PYTHON, WORKER, Container, skip_without_containers

from determined_master.services.containers.interactive_specs import TaskSecrets
from determined_master.services.containers.ssh_keys import derive_key_pair

pytestmark = [pytest.mark.slow, pytest.mark.e2e]
BARE = [sys.executable, "-S"]
KEYS = derive_key_pair(b"k" * 32, "ED25519", 0)
SECRETS = TaskSecrets(ssh_keys=KEYS)
REFUSED = 255


@pytest.fixture
def sshd() -> None:
    search = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    if not shutil.which("sshd", path=search):
        pytest.skip("there is no sshd here (Debian's package openssh-server)")
    if not shutil.which("ssh"):
        pytest.skip("there is no ssh here (Debian's package openssh-client)")


def log_in(running: Running, *words: str, user: str = "", key: bytes = KEYS.private) -> str:
    """What a command prints in a session of its own."""
    path = running.task.root / "key"
    path.write_bytes(key)
    path.chmod(0o600)
    command = ["ssh", "-F", "none", "-i", str(path), "-p", str(running.port)]
    for option in (
        "IdentitiesOnly=yes",
        "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null",
        "LogLevel=ERROR",
        "BatchMode=yes",
    ):
        command += ["-o", option]
    name = user or pwd.getpwuid(os.getuid()).pw_name
    done = subprocess.run(
        [*command, f"{name}@127.0.0.1", *words],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
    return done.stdout


@covers("task-contract 3.1.shell 3.8.shell 3.9.environment")
@pytest.mark.usefixtures("sshd")
def test_a_session_has_the_tasks_environment(start: Starter, master: MasterDouble) -> None:
    variables = {"MINE": 'a "quoted" $x \\ word', "LINES2": "one\ntwo", "BROKEN": "end\\"}
    running = start("SHELL", BARE, SECRETS, env={**variables, "LC_ALL": "C.UTF-8"})
    running.wait_for(lambda: master.named("POST", "/1.abc.1/ready"), "it is ready")
    found = dict(
        line.partition("=")[::2] for line in log_in(running, "env").splitlines() if "=" in line
    )
    assert found["MINE"] == variables["MINE"]
    assert found["LINES2"] == r"one\ntwo"
    assert "BROKEN" not in found
    assert found["DET_TASK_ID"] == "1.abc"
    assert found["DET_WORKDIR"] == str(running.task.work_dir)
    assert found["DET_PATH"] == running.task.env["PATH"]
    assert found["HOME"] == pwd.getpwuid(os.getuid()).pw_dir
    seen = log_in(running, sys.executable, "-c", "'import determined; print(determined.__name__)'")
    assert seen == "determined\n"
    assert len(master.named("POST", "/1.abc.1/ready")) == 1
    assert running.end() in (0, 128 + 15, 255)


@covers("task-contract 2.1.sshd")
@pytest.mark.usefixtures("sshd")
def test_nobody_else_comes_in(start: Starter, master: MasterDouble) -> None:
    running = start("SHELL", BARE, SECRETS)
    running.wait_for(lambda: master.named("POST", "/ready"), "it is ready")
    other = derive_key_pair(b"o" * 32, "ED25519", 0)
    with pytest.raises(subprocess.CalledProcessError, match=f"{REFUSED}") as raised:
        log_in(running, "true", key=other.private)
    assert "Permission denied" in raised.value.stderr
    assert log_in(running, "echo in") == "in\n"
    folder = running.task.run_dir / "ssh"
    assert (folder / "authorized_keys").stat().st_mode & 0o777 == 0o600
    assert (folder / "id_rsa").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("sshd")
def test_files_are_copied_over_sftp(start: Starter, master: MasterDouble, tmp_path: Path) -> None:
    if not shutil.which("sftp"):
        pytest.skip("there is no sftp here")
    running = start("SHELL", BARE, SECRETS)
    running.wait_for(lambda: master.named("POST", "/ready"), "it is ready")
    log_in(running, "true")  # writes the key
    (tmp_path / "mine").write_text("content")
    target = tmp_path / "theirs"
    command = ["sftp", "-F", "none", "-i", str(running.task.root / "key"), "-b", "-"]
    command += ["-P", str(running.port), "-o", "StrictHostKeyChecking=no"]
    command += ["-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes"]
    name = pwd.getpwuid(os.getuid()).pw_name
    subprocess.run(
        [*command, f"{name}@127.0.0.1"],
        input=f"put {tmp_path}/mine {target}\n",
        text=True,
        timeout=60,
        check=True,
        capture_output=True,
    )
    assert target.read_text() == "content"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that any user may enter."""
    skip_without_containers()
    with tempfile.TemporaryDirectory(prefix="determined-test-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def contained(
    master: MasterDouble, folder: Path, uid: int, **options: Any
) -> contextlib.closing[Starter]:
    return contextlib.closing(Starter(master, folder, Container(folder, uid, **options)))


@covers("task-contract 2.1.sshd")
@pytest.mark.usefixtures("sshd")
@pytest.mark.parametrize(("uid", "user"), [(0, "root"), (WORKER, "worker")])
def test_a_container_is_entered_as_its_user(
    master: MasterDouble, folder: Path, uid: int, user: str
) -> None:
    with contained(master, folder, uid) as start:
        running = start("SHELL", [PYTHON, "-S"], SECRETS)
        running.wait_for(lambda: master.named("POST", "/ready"), "it is ready")
        script = "import os; print(os.getuid(), os.environ['DET_RUN_DIR'])"
        seen = log_in(running, PYTHON, "-c", f'"{script}"', user=user)
        assert seen == f"{uid} /run/determined\n"
        assert "StrictModes yes" in (start.task.run_dir / "ssh" / "sshd_config").read_text()
        if uid == 0:
            path = log_in(running, "bash", "-lc", "'echo $PATH'", user=user).strip()
            assert path.startswith(start.task.env["PATH"])
        running.end()


@pytest.mark.usefixtures("sshd")
@pytest.mark.parametrize(
    ("uid", "options", "said"),
    [
        (0, {"shadow": "!locked"}, "the user root is locked in this image's /etc/shadow"),
        (WORKER, {"has_worker": False}, f"this image has no user with id {WORKER}"),
    ],
)
def test_a_user_who_could_not_enter_is_named(
    master: MasterDouble, folder: Path, uid: int, options: Any, said: str
) -> None:
    with contained(master, folder, uid, **options) as start:
        running = start("SHELL", [PYTHON, "-S"], SECRETS)
        assert running.process.wait(60) == 1
        assert said in running.text
        assert "Traceback" not in running.text


def test_without_a_server_the_log_names_the_remedy(start: Starter, tmp_path: Path) -> None:
    bare = patched(
        tmp_path, BARE, "from determined.exec._servers import programs; programs.SYSTEM_PATHS = ()"
    )
    running = start("SHELL", bare, SECRETS, env={"PATH": "/nowhere"})
    assert running.process.wait(60) != 0
    assert "apt-get install -y openssh-server" in running.text
    assert "Traceback" not in running.text
