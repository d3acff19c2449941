"""What has changed since everything was run, and which suites that needs."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.suites.table import ROOT, Suite, Table, is_needed_by

VERIFIED = ROOT / ".ci/verified"


@dataclass(frozen=True)
class Choice:
    """Whether a suite runs, and why."""

    suite: Suite
    is_run: bool
    reason: str


def tracked_files(root: Path = ROOT) -> list[str]:
    """All files that git knows or would add."""
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    return sorted(name for name in listed.split("\0") if name)


def verified_commit() -> str | None:
    """The commit on which every suite passed; None where no file names one."""
    if not VERIFIED.exists():
        return None
    return str(tomllib.loads(VERIFIED.read_text())["commit"])


def changed_files(commit: str, root: Path = ROOT) -> list[str] | None:
    """Files that differ from a commit, with those that are not committed.

    Returns:
        None when the commit is not in this checkout, as in a shallow clone.
    """
    try:
        _git(root, "merge-base", "--is-ancestor", commit, "HEAD")
    except subprocess.CalledProcessError:
        return None
    # Of a renamed file both names count.
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", commit)
    others = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({name for name in (differing + others).split("\0") if name})


def choose(table: Table, changed: Sequence[str] | None, reason_for_all: str) -> list[Choice]:
    """Decide on each suite.

    Args:
        table: the suites.
        changed: files that have changed; None runs all.
        reason_for_all: what is printed where all run.
    """
    choices = [_choice(table, suite, changed, reason_for_all) for suite in table.suites]
    running = {choice.suite.name for choice in choices if choice.is_run}
    return [
        Choice(c.suite, is_run=False, reason=f"it is part of {c.suite.within}")
        if c.suite.within in running
        else c
        for c in choices
    ]


def _choice(
    table: Table, suite: Suite, changed: Sequence[str] | None, reason_for_all: str
) -> Choice:
    if suite.is_always_run:
        return Choice(suite, is_run=True, reason="always")
    if changed is None:
        return Choice(suite, is_run=True, reason=reason_for_all)
    needing = [path for path in changed if is_needed_by(table, suite, path)]
    if not needing:
        return Choice(suite, is_run=False, reason="nothing it depends on has changed")
    more = f" and {len(needing) - 1} more" if len(needing) > 1 else ""
    return Choice(suite, is_run=True, reason=f"{needing[0]}{more} changed")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
