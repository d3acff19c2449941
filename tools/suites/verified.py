"""`.ci/verified`: the commit on which every suite passed, with the time of each."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping

from tools.suites.runs import Result
from tools.suites.table import Table

_HEAD = """\
# The last commit on which every suite of tests/suites.toml passed, with the seconds of each.
# `python3 -m tools.suites verify` writes this file; .ci/run runs what has changed since then.
"""


def missing_runs(table: Table, results: Mapping[str, Result], commit: str) -> list[str]:
    """Why a commit is not verified: one line for each suite without a passed run of it."""
    lines = []
    for suite in table.suites:
        result = results.get(suite.name) or results.get(suite.within)
        if result is None:
            lines.append(f"{suite.name} was not run")
        elif not result.is_passed:
            lines.append(f"{suite.name} did not pass")
        elif result.commit != commit:
            lines.append(f"{suite.name} was run on {result.commit[:12]} and not on {commit[:12]}")
    return lines


def verified_text(
    table: Table, results: Mapping[str, Result], commit: str, day: datetime.date
) -> str:
    """The content of the file."""
    lines = [f'commit = "{commit}"', f"day = {day.isoformat()}", "", "[seconds]"]
    for suite in table.suites:
        if suite.name in results:
            lines.append(f"{suite.name} = {results[suite.name].seconds}")
    return _HEAD + "\n".join(lines) + "\n"


def faults_of_verified(table: Table, text: str) -> list[str]:
    """What a verified file lacks: each suite has its time, or is part of one that has."""
    content = tomllib.loads(text)
    seconds = content.get("seconds", {})
    return [
        f"{suite.name} has no time"
        for suite in table.suites
        if suite.name not in seconds and suite.within not in seconds
    ]
