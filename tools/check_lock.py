"""Checks the lock files in requirements/ without the network.

python tools/check_lock.py                 exits 1 if a lock is older than pyproject.toml
python tools/check_lock.py --max-age 31    also if no newer versions were looked for in 31 days
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools.lock_files import (  # noqa: E402
    LOCKS,
    WHOLE,
    LockFile,
    UnreadableLock,
    digest_of_inputs,
    path_of,
    read_lock,
    today,
)


def problems(root: Path = ROOT) -> Iterator[str]:
    """Each reason why a lock may not be installed from, with its remedy."""
    try:
        locks = {name: read_lock(name, root) for name in LOCKS}
    except UnreadableLock as error:
        yield str(error)
        return
    for name in LOCKS:
        if "://" in path_of(name, root).read_text():
            yield f"requirements/{name}.txt names an address: run `make lock`"
    inputs = digest_of_inputs(root)
    whole = {(pin.name, pin.version) for pin in locks[WHOLE].pins}
    names = {name for name, _ in whole}
    for lock in locks.values():
        if lock.inputs != inputs:
            yield (
                f"requirements/{lock.name}.txt is older than the dependencies in pyproject.toml: "
                "run `make lock`"
            )
        for pin in lock.pins:
            if not pin.hashes:
                yield f"{pin.name} in requirements/{lock.name}.txt has no hash: run `make lock`"
            if pin.name in names and (pin.name, pin.version) not in whole:
                yield (
                    f"requirements/{lock.name}.txt has {pin.name} {pin.version}, "
                    f"requirements/{WHOLE}.txt another version: run `make lock`"
                )


def overdue(lock: LockFile, day: date, max_age_days: int) -> str | None:
    """The text that names the age of a lock which is too old."""
    age = (day - lock.made).days
    if age <= max_age_days:
        return None
    return (
        f"the lock files are {age} days old (made {lock.made}, allowed {max_age_days} days): "
        "run `make lock-upgrade` and `make audit`"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Check the lock files in requirements/.")
    parser.add_argument("--max-age", type=int, metavar="DAYS")
    options = parser.parse_args(arguments)
    found = list(problems())
    if not found and options.max_age is not None:
        late = overdue(read_lock(WHOLE), today(), options.max_age)
        found += [late] if late else []
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
