"""Trains a trial class given as `module:Class`."""

from __future__ import annotations

import sys
from typing import List

from determined.exec._notes import note

NOT_SERVED = 1


def main(argv: List[str]) -> int:
    """Refuse: this version trains scripts only."""
    spec = argv[0] if argv else "module:Class"
    note(
        f"the entrypoint {spec!r} names a trial class, which this version cannot train. Write a "
        "script that calls determined.core.init() (or your framework's trainer) and make it the "
        "entrypoint, such as 'python3 train.py'",
        "ERROR",
    )
    return NOT_SERVED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
