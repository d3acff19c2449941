"""A machine with a journal, and the service that sends it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from determined_agent.clock import now

JOURNALCTL = """#!/bin/bash
# A journal of the lines in a file, which grows; a cursor is the number of a line.
printf '%s\\n' "$*" >>{root}/asked
skip=0
for word in "$@"; do
  case "$word" in
    --after-cursor=*[!0-9]*) echo "Failed to seek to cursor: Invalid argument" >&2; exit 1 ;;
    --after-cursor=*) skip=${{word#*=}} ;;
  esac
done
exec tail -n +$((skip + 1)) -f {root}/journal
"""


class Host:
    """A machine with a journal, whose service is started and stopped."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lines = 0
        (root / "bin").mkdir()
        program = root / "bin" / "journalctl"
        program.write_text(JOURNALCTL.format(root=root))
        program.chmod(0o755)
        (root / "journal").touch()

    def write(self, *messages: str, priority: int = 6) -> None:
        """Entries of the agent."""
        at = int(now().timestamp() * 1_000_000)
        with (self.root / "journal").open("a") as journal:
            for message in messages:
                self._lines += 1
                fields = {
                    "__CURSOR": str(self._lines),
                    "__REALTIME_TIMESTAMP": str(at + self._lines),
                    "_SYSTEMD_UNIT": "determined-agent.service",
                    "MESSAGE": message,
                    "PRIORITY": str(priority),
                }
                journal.write(json.dumps(fields) + "\n")

    @contextlib.contextmanager
    def service(self, *target: str) -> Iterator[subprocess.Popen[bytes]]:
        """Running with the words of a target, stopped at the end as systemd stops it."""
        command = [sys.executable, "-m", "determined_agent.journal", "--every", "0.5"]
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        with (self.root / "log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--state", str(self.root / "state"), *target],
                env={**os.environ, "PATH": path},
                stdout=log,
                stderr=log,
            )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)

    @property
    def log(self) -> str:
        """The service's log."""
        return (self.root / "log").read_text()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)
