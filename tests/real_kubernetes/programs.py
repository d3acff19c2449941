"""A program of a cluster, which a test ends and starts again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

LIMIT_S = 60


class Program:
    """One process, with its output in a file."""

    def __init__(self, name: str, command: list[str], directory: Path) -> None:
        self.name = name
        self.command = command
        self._output = directory / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it; return when it has ended."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(LIMIT_S)
            self._process = None

    def has_failed(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def said(self) -> str:
        """The end of its output."""
        return self._output.read_text(errors="replace")[-3000:]


def command_of(pid: int) -> list[str]:
    """The command line of a running process."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    return [os.fsdecode(word) for word in words]


def restart_of_bed(run: Path, name: str) -> None:
    """End a program of a bed, whose pid lies in `run`, and start it again as it was.

    It outlives the test, as it does without this restart. `down` of the bed ends it by its pid.
    """
    pid_file = run / f"{name}.pid"
    pid = int(pid_file.read_text())
    command = command_of(pid)
    os.kill(pid, signal.SIGTERM)
    try:
        _wait_for_end(pid)
    finally:
        with (run / f"{name}.log").open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        pid_file.write_text(f"{process.pid}\n")
        process.returncode = 0  # nobody waits for it here


def _wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while _is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} has not ended in {LIMIT_S} s"
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
