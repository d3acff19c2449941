"""Makes the list of packages that machines of a cluster install, from requirements/all.txt.

python tools/machine_lock.py
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools.lock_files import PYPROJECT, WHOLE, Pin, read_lock  # noqa: E402

from determined_wire.locked import BASE, FILE, LISTED  # noqa: E402

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_HEAD = "# Made by `make lock` from requirements/all.txt; do not edit.\n"


def text_of(root: Path = ROOT) -> str:
    """The list, as `determined_wire.locked` reads it."""
    pins = read_lock(WHOLE, root).pins
    needs = {extra: _closure(names, pins) for extra, names in _direct(root).items()}
    return _HEAD + "".join(_lines(pins, needs))


def _direct(root: Path) -> dict[str, set[str]]:
    project = tomllib.loads((root / PYPROJECT).read_text())["project"]
    lists: Mapping[str, Sequence[str]] = {
        BASE: project["dependencies"],
        **project["optional-dependencies"],
    }
    return {extra: {_normal(need) for need in lists[extra]} for extra in LISTED}


def _normal(requirement: str) -> str:
    found = _NAME.match(requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def _closure(names: set[str], pins: Sequence[Pin]) -> set[str]:
    """The names, and all that they need."""
    reached = set(names)
    while more := {p.name for p in pins if p.name not in reached and reached & set(p.needed_by)}:
        reached |= more
    return reached


def _lines(pins: Sequence[Pin], needs: Mapping[str, set[str]]) -> Iterator[str]:
    for pin in pins:
        extras = [extra for extra, names in needs.items() if pin.name in names]
        if extras:
            marker = f" ; {pin.marker}" if pin.marker else ""
            hashes = "".join(f" --hash=sha256:{each}" for each in pin.hashes)
            yield f"{','.join(extras)}\t{pin.name}=={pin.version}{marker}{hashes}\n"


def write(root: Path = ROOT) -> None:
    """Write the list into the sources."""
    (root / "src" / "determined_wire" / FILE).write_text(text_of(root))


if __name__ == "__main__":
    write()
