"""`det shell` against a cluster: real ssh, through the master's proxy, to a real ssh server."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import ROOT, until
from tests.e2e.live.conftest import Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live

NO_SLOTS = ("--config", "resources.slots=0")
SSH_LIMIT_S = 60.0


@pytest.fixture
def ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSH on this machine; what it starts finds our own modules."""
    search = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    if not shutil.which("sshd", path=search) or not shutil.which("ssh"):
        pytest.skip("there is no ssh or no sshd here (Debian's openssh-client, openssh-server)")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))


@pytest.fixture
def shell(person: Person, ssh: None) -> Iterator[str]:
    """A shell that runs; its id."""
    started = person.det("shell", "start", "-d", *NO_SLOTS).out.strip()
    yield started
    person.det("shell", "kill", started, "--force")


def det(person: Person, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command as a process of its own, for what writes to the terminal itself."""
    said = subprocess.run(
        [sys.executable, "-m", "determined.cli", *map(str, words)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=SSH_LIMIT_S,
    )
    assert said.returncode == code, f"det {words} ended with {said.returncode}: {said}"
    return said


def state(person: Person, task_id: str) -> str:
    found: dict[str, Any] = person.cluster.get(f"/api/v1/shells/{task_id}")["shell"]
    return str(found["state"]).removeprefix("STATE_")


@live("shell open")
def test_a_session_runs_in_the_task_and_ends_as_its_command(person: Person, shell: str) -> None:
    said = det(
        person, "shell", "open", shell, "--", "echo $DET_TASK_TYPE $DET_TASK_ID; exit 5", code=5
    )
    assert said.stdout.split() == ["SHELL", shell]
    assert f"Stop: det shell kill {shell}" in said.stderr


@live("shell show-ssh-command", "shell show_ssh_command", "shell kill")
def test_the_shown_command_reaches_the_shell_until_it_is_killed(
    person: Person, shell: str
) -> None:
    person.det("shell", "show-ssh-command", shell)
    shown = shlex.split(person.det("shell", "show_ssh_command", shell, "--", "hostname").out)
    shown.remove("-tt")  # not every machine gives terminals to who is not root
    done = subprocess.run(
        shown, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SSH_LIMIT_S
    )
    assert (done.returncode, done.stdout.strip()) == (0, os.uname().nodename), done
    key = Path(shown[shown.index("-i") + 1])
    assert key.is_file()
    person.det("shell", "kill", shell)
    assert not key.exists()
    until(lambda: state(person, shell) == "TERMINATED", what="the end of the shell")


@live("shell start")
def test_start_opens_what_it_has_started_with_its_files(person: Person, ssh: None) -> None:
    folder = person.model("pass")
    words = ("shell", "start", *NO_SLOTS, "-c", folder, "--", "ls $DET_WORKDIR")
    try:
        assert "train.py" in det(person, *words).stdout
    finally:
        for task_id in person.det("shell", "list", "-q").out.split():
            person.det("shell", "kill", task_id)


@live("shell list", "shell config", "shell logs", "shell set priority")
def test_a_shell_is_listed_and_described(person: Person, shell: str) -> None:
    rows = {row["id"]: row for row in person.det("shell", "list", "--csv").rows()}
    assert rows[shell]["description"].startswith("Shell (")
    person.det("shell", "show_ssh_command", shell)  # once it is ready
    person.det_comes_to_say("the ssh server listens", "shell", "logs", shell)
    person.det("shell", "set", "priority", shell, 9)
    config = person.det("shell", "config", shell).out
    assert "priority: 9" in config
    assert "PRIVATE KEY" not in config
