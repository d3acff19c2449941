"""Runs one rank and marks each line of its output: `wrap_rank RANK -- COMMAND`.

RANK is a number, or a comma-separated list of environment variables, of which the first one that
is set has the rank. Lines get the prefix `[rank=N] `, from which the master parses the rank.
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
import threading
import time
from typing import IO, Any, List, Mapping, Optional

from determined._constants import run_dir
from determined._signals import exit_code_of, forward_signals

LINE_BYTES = 8191
"""Longer lines are split, as the log would split them."""
QUIET_S = 1.0


def main(argv: List[str]) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-redirect-stdio", action="store_true")
    parser.add_argument("rank", help="a number, or the names of variables")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    command = args.script[1:] if args.script[:1] == ["--"] else args.script
    if not command:
        parser.error("a command to run is required")
    rank = read_rank(args.rank, os.environ)
    if rank is None:
        sys.stderr.write(f"none of the rank variables {args.rank} is set\n")
        return 1
    return run_rank(rank, command, is_redirected=not args.no_redirect_stdio)


def read_rank(text: str, env: Mapping[str, str]) -> Optional[int]:
    """The rank from the first argument; None if no variable is set."""
    if text.isdigit():
        return int(text)
    return next((int(env[name]) for name in text.split(",") if env.get(name, "").isdigit()), None)


def run_rank(rank: int, command: List[str], is_redirected: bool = True) -> int:
    """Run a command and mark its output; return its exit code.

    Args:
        rank: the rank.
        command: the rank's command.
        is_redirected: write to the container's log if there is one, since the launcher may drop
            the output of its processes.
    """
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with forward_signals(p):
        pumps = pump_output(p, rank, is_redirected)
        code = p.wait()
        for pump in pumps:
            pump.finish()
    return exit_code_of(code)


class Pump(threading.Thread):
    """Copies one output stream of a rank and marks its lines."""

    def __init__(self, source: IO[bytes], target: IO[bytes], prefix: bytes) -> None:
        super().__init__(daemon=True)
        self._source: Any = source  # pipes are buffered readers
        self._target = target
        self._prefix = prefix
        self._is_waiting = False

    def run(self) -> None:
        """Copy until the end of the stream."""
        copy_lines(self, self._target, self._prefix)

    def read1(self, size: int) -> bytes:
        """Read from the source; `_is_waiting` is set while the read blocks."""
        self._is_waiting = True
        piece: bytes = self._source.read1(size)
        self._is_waiting = False
        return piece

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def finish(self) -> None:
        """Wait until all output of the program is copied, even if the log is slow.

        Returns if nothing arrives for a second: a remaining child process keeps the pipe open.
        """
        quiet_since = time.monotonic()
        while self.is_alive():
            if not self._is_waiting or _is_readable(self._source):
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > QUIET_S:
                return
            self.join(0.01)


def pump_output(p: subprocess.Popen[Any], rank: int, is_redirected: bool) -> List[Pump]:
    """Start copying a process's marked output to this process's output."""
    pumps = []
    for name, source, fallback in (
        ("stdout", p.stdout, sys.stdout.buffer),
        ("stderr", p.stderr, sys.stderr.buffer),
    ):
        target = _target(name, fallback) if is_redirected else fallback
        assert source is not None
        pump = Pump(source, target, f"[rank={rank}] ".encode())
        pump.start()
        pumps.append(pump)
    return pumps


def copy_lines(source: Any, target: IO[bytes], prefix: bytes) -> None:
    """Copy lines with a prefix; `\\r` ends a line too, and long lines are split."""
    rest = b""
    while True:
        piece = source.read1(65536)
        lines = (rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = lines.pop() if piece else b""
        while len(rest) > LINE_BYTES:
            lines.append(rest[:LINE_BYTES])
            rest = rest[LINE_BYTES:]
        marked = [
            prefix + line[at : at + LINE_BYTES] + b"\n"
            for line in lines
            for at in range(0, len(line) or 1, LINE_BYTES)
            if line or piece
        ]
        target.write(b"".join(marked))
        target.flush()
        if not piece:
            source.close()
            return


def _is_readable(source: IO[bytes]) -> bool:
    """Whether a read would return data or the end without blocking."""
    poll = select.poll()
    try:
        poll.register(source, select.POLLIN)
    except ValueError:  # closed
        return True
    return bool(poll.poll(0))


def _target(name: str, fallback: IO[bytes]) -> IO[bytes]:
    path = os.path.join(run_dir(), "train", "logs", f"{name}.log")
    try:
        return open(path, "ab")  # stays open until the rank exits
    except OSError:
        return fallback


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
