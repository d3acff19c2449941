"""The mark that says which row of a reference a test proves.

    @covers("experiment-config 7.7")
    @covers("experiment-config 2.name 2.labels")
    @covers("scheduling-and-provisioning b.4.in_vain")

The first word names a file of `tests/data/references`, each further word a row: its section, a
dot, and the row's key there; both may have dots of their own. A row is covered when a test that
carries its mark asserts that very behaviour; `tests/repo/test_covers.py` lists the rows that none
covers. The mark also continues single cases: `pytest.param(..., marks=covers("..."))`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

REFERENCES = Path(__file__).parent / "data" / "references"


class Reference(NamedTuple):
    """A copied list of facts: `rows` by key, and those that no test can cover yet with why."""

    name: str
    rows: dict[str, str]
    later: dict[str, str]
    """Row, section or chapter (`a` of `a.1`) -> what is to be built first."""
    nothing_to_build: dict[str, str]
    """Row -> why this project has nothing that could prove it."""

    def excused(self) -> set[str]:
        """Rows that need no test now."""
        return {row for row in self.rows if row in self.nothing_to_build or self._waits(row)}

    def _waits(self, row: str) -> bool:
        return any(is_of(row, name) for name in self.later)


def is_of(row: str, name: str) -> bool:
    """Whether that is the row's own name, or that of what it stands in."""
    return row == name or row.startswith(f"{name}.")


@cache
def reference(name: str) -> Reference:
    """The reference of that name. Raises FileNotFoundError."""
    content = json.loads((REFERENCES / f"{name}.json").read_text())
    rows = {
        f"{number}.{key}": fact
        for number, section in content["sections"].items()
        for key, fact in section["rows"].items()
    }
    return Reference(name, rows, content.get("later", {}), content.get("nothing_to_build", {}))


def covers(text: str) -> Any:
    """Mark a test, or one of its cases, with the rows that it proves.

    Raises:
        ValueError: the reference has no such row.
    """
    name, *rows = text.split()
    known = reference(name).rows
    unknown = [row for row in rows if row not in known]
    if unknown or not rows:
        raise ValueError(f"{name} has no row {', '.join(unknown) or '(none was named)'}")
    return pytest.mark.covers(name, *rows)
