"""Runs a launcher and stops it when one of its workers dies; see `determined.ipc.PIDServer`."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import List, Optional

from determined.ipc import PIDServer, read_pid_server_addr


def read_signal(text: str) -> Optional[signal.Signals]:
    """The signal of a name, or None for WAIT."""
    if text == "WAIT":
        return None
    try:
        return signal.Signals[text]
    except KeyError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither the name of a signal nor WAIT"
        ) from None


def main(argv: List[str]) -> int:
    """Run the launcher; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-x", "--on-fail", type=read_signal, default="SIGTERM")
    parser.add_argument("-e", "--on-exit", type=read_signal, default="WAIT")
    parser.add_argument("--grace-period", type=float, default=3)
    parser.add_argument("--signal-children", action="store_true")
    parser.add_argument("addr", type=read_pid_server_addr)
    parser.add_argument("num_workers", type=int)
    parser.add_argument("cmd", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    command = args.cmd[1:] if args.cmd[:1] == ["--"] else args.cmd
    if not command:
        parser.error("a command to run is required")
    with PIDServer(args.addr, args.num_workers).start() as server:
        return server.run_subprocess(
            command,
            on_fail=args.on_fail,
            on_exit=args.on_exit,
            grace_period=args.grace_period,
            signal_children=args.signal_children,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
