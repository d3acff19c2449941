"""The packages that a machine of a cluster installs beside the wheel, with their hashes.

    PYTHONPATH=WHEEL python -m determined_wire.locked base agent aws

prints, in pip's form, the versions of `requirements/` that these extras need; `base` is what every
wheel needs. The list lies in the wheel, so a machine that has the wheel of its master has the list
of that release too. Only the standard library is used: nothing is installed yet.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterable

BASE = "base"
LISTED = (BASE, "master", "agent", "storage", "aws", "gcp")
"""The extras that machines install."""
FILE = "locked.txt"
"""Made by `make lock`: for each package the extras that need it, a tab, and pip's line."""


def requirements(extras: Iterable[str]) -> str:
    """The lines for pip.

    Raises:
        ValueError: an extra is not listed.
    """
    names = set(extras)
    if unlisted := sorted(names - set(LISTED)):
        text = f"no packages are locked for {', '.join(unlisted)}: name some of {LISTED}"
        raise ValueError(text)
    content = pkgutil.get_data("determined_wire", FILE) or b""
    rows = (line.split("\t") for line in content.decode().splitlines())
    listed = ((set(row[0].split(",")), row[1]) for row in rows if len(row) == 2)
    return "".join(f"{line}\n" for needed_by, line in listed if names & needed_by)


if __name__ == "__main__":
    sys.stdout.write(requirements(sys.argv[1:]))
