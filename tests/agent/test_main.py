"""The command `determined-agent` as a process: how it ends."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from determined_agent.main import use_home_of_account

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("env", "home"),
    [({"HOME": "/home/ada"}, "/home/ada"), ({"HOME": ""}, None), ({}, None)],
)
def test_an_agent_without_a_home_uses_that_of_its_account(
    env: dict[str, str], home: str | None
) -> None:
    """A service of systemd gets none: `docker login` of its account had no effect there."""
    use_home_of_account(env)
    assert env["HOME"] == (home or pwd.getpwuid(os.getuid()).pw_dir)


def test_an_account_without_an_entry_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    env: dict[str, str] = {}
    use_home_of_account(env)
    assert env == {}


def test_an_interrupt_during_the_start_shows_no_traceback(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        daemon = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        flags = [
            "--master-host",
            "127.0.0.1",
            "--docker-host",
            daemon,
            "--work-dir",
            str(tmp_path),
        ]
        started = subprocess.Popen(
            [sys.executable, "-m", "determined_agent.main", *flags],
            env={k: v for k, v in os.environ.items() if not k.startswith("DET_")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        mute.settimeout(60)
        connection, _ = mute.accept()
        with connection:
            started.send_signal(signal.SIGINT)
            _, err = started.communicate(timeout=60)
    assert started.returncode == 0
    assert "Traceback" not in err
