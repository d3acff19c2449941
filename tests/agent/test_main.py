"""The command `determined-agent` as a process: how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


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
