"""Shells with OpenSSH's own server and client."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.master_double import MasterDouble
from tests.interactive.conftest import Running, Starter, patched

from determined_master.services.interactive_specs import TaskSecrets
from determined_master.services.ssh_keys import derive_key_pair

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
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)


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
    assert found["PATH"].endswith(running.task.env["PATH"])
    assert found["HOME"] == pwd.getpwuid(os.getuid()).pw_dir
    seen = log_in(running, sys.executable, "-c", "'import determined; print(determined.__name__)'")
    assert seen == "determined\n"
    assert len(master.named("POST", "/1.abc.1/ready")) == 1
    assert running.end() in (0, 128 + 15, 255)


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


@pytest.mark.usefixtures("sshd")
def test_an_ordinary_user_serves_and_enters(start: Starter, master: MasterDouble) -> None:
    if os.getuid() != 0:
        pytest.skip("only root starts programs as another user")
    user = pwd.getpwnam("nobody")
    if not os.path.isfile(user.pw_shell):
        pytest.skip(f"the user nobody has no shell here ({user.pw_shell})")
    root = start.task.root
    for path in (root, *root.parents):
        if path.stat().st_uid == 0 and path != Path("/") and "pytest" in str(path):
            path.chmod(path.stat().st_mode | 0o011)
    start.task.run_dir.mkdir(mode=0o700)
    os.chown(start.task.run_dir, user.pw_uid, user.pw_gid)

    def become() -> None:
        for folder, _, names in os.walk(start.task.run_dir):
            for name in (folder, *(os.path.join(folder, n) for n in names)):
                os.chown(name, user.pw_uid, user.pw_gid)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)

    running = start("SHELL", BARE, SECRETS, preexec=become)
    running.wait_for(lambda: master.named("POST", "/ready"), "it is ready")
    script = f"{sys.executable} -c 'import os; print(os.getuid())'"
    assert log_in(running, script, user="nobody") == f"{user.pw_uid}\n"


def test_without_a_server_the_log_names_the_remedy(start: Starter, tmp_path: Path) -> None:
    bare = patched(tmp_path, BARE, "from determined.exec import _tools; _tools.SYSTEM_PATHS = ()")
    running = start("SHELL", bare, SECRETS, env={"PATH": "/nowhere"})
    assert running.process.wait(30) != 0
    assert "apt-get install -y openssh-server" in running.text
    assert "Traceback" not in running.text
