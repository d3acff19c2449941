"""`.ci/verified`: for each suite the commit on which it last passed, the day and the time."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from tools.suites.runs import Result
from tools.suites.table import Table

_HEAD = """\
# For each suite of tests/suites.toml the last commit on which it passed, and the seconds it took.
# `python3 -m tools.suites verify` writes this file. .ci/run runs a suite when a file on which it
# depends has changed since its commit.
"""
_KEYS = {"commit", "day", "seconds"}


def verified_text(
    table: Table,
    text: str,
    results: Mapping[str, Result],
    is_ancestor: Callable[[str], bool],
) -> str:
    """The new content of the file.

    Args:
        table: the suites, in the order of the file.
        text: the present content.
        results: the last run of each suite in this checkout. One that failed, or that ran on other
            files than those of its commit, changes nothing.
        is_ancestor: whether a commit leads to that of the checkout.
    """
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    for name, result in results.items():
        if result.is_passed and not result.commit.endswith("+") and is_ancestor(result.commit):
            row = {"commit": result.commit, "day": result.day, "seconds": result.seconds}
            rows[name] = row
    lines = []
    for suite in table.suites:
        if (row := rows.get(suite.name)) is not None:
            lines += ["", f"[{suite.name}]", f'commit = "{row["commit"]}"']
            lines += [f'day = "{row["day"]}"', f"seconds = {row['seconds']}"]
    return _HEAD + "\n".join(lines) + "\n"


def faults_of_verified(table: Table, text: str) -> list[str]:
    """What is wrong in a verified file: suites that there are not, and rows that are not whole."""
    names = {suite.name for suite in table.suites}
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    return [
        *(f"there is no suite {name}" for name in rows if name not in names),
        *(f"{name} lacks {key}" for name, row in rows.items() for key in _KEYS - row.keys()),
    ]
