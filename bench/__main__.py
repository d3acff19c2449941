"""`python -m bench [--smoke] [--only NAME ...] [--list]`."""

from __future__ import annotations

import argparse
import signal
import sys

from bench.registry import FIGURES
from bench.runner import run


def main() -> int:
    """Measure what is asked for; 1 when a figure could not be measured or is too bad."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="a tenth of the load; fail below half of a target, on a machine as slow as this",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=[f.name for f in FIGURES], help="these alone"
    )
    parser.add_argument("--list", action="store_true", help="names and targets, no measurement")
    args = parser.parse_args()
    chosen = [f for f in FIGURES if not args.only or f.name in args.only]
    if args.smoke and not args.only:
        chosen = [f for f in chosen if f.in_smoke]
    if args.list:
        for figure in chosen:
            for limit in figure.limits:
                print(figure.name, limit.name, limit.direction, limit.target, limit.unit)
        return 0
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)  # the cluster is stopped on the way out
    return run(chosen, is_smoke=args.smoke)


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
