"""What has changed since each suite passed, and which suites that needs."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.suites.table import ROOT, TABLE, Suite, Table, is_needed_by, read_table

VERIFIED = ROOT / ".ci/verified"
TABLE_PATH = str(TABLE.relative_to(ROOT))


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


def verified_commits() -> dict[str, str]:
    """By suite: the commit on which it last passed."""
    rows = tomllib.loads(VERIFIED.read_text()) if VERIFIED.exists() else {}
    return {name: str(row["commit"]) for name, row in rows.items()}


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


def is_ancestor(commit: str) -> bool:
    """Whether a commit leads to that of the checkout."""
    return changed_files(commit) is not None


def changes_by_suite(
    table: Table, commits: Mapping[str, str], root: Path = ROOT
) -> dict[str, Sequence[str] | None]:
    """By suite: the files that have changed since its commit; None for a commit not known here.

    The suites with another command than at that time are missing.
    """
    files = {commit: changed_files(commit, root) for commit in set(commits.values())}
    then = {c: _commands_at(c, root) for c, paths in files.items() if TABLE_PATH in (paths or ())}
    now = {suite.name: suite.command for suite in table.suites}
    return {
        name: files[commit]
        for name, commit in commits.items()
        if commit not in then or then[commit].get(name) == now.get(name)
    }


def _commands_at(commit: str, root: Path) -> dict[str, str]:
    text = _git(root, "show", f"{commit}:{TABLE_PATH}")
    return {suite.name: suite.command for suite in read_table(text).suites}


def choose(
    table: Table, changes: Mapping[str, Sequence[str] | None], *, is_all_run: bool = False
) -> list[Choice]:
    """Decide on each suite.

    Args:
        table: the suites.
        changes: by suite that has passed before, what has changed since; None for unknown changes.
        is_all_run: whether all suites are to run.
    """
    choices = [_choice(table, suite, changes, is_all_run) for suite in table.suites]
    running = {choice.suite.name for choice in choices if choice.is_run}
    return [
        Choice(c.suite, is_run=False, reason=f"it is part of {c.suite.within}")
        if c.suite.within in running
        else c
        for c in choices
    ]


def _choice(
    table: Table, suite: Suite, changes: Mapping[str, Sequence[str] | None], is_all_run: bool
) -> Choice:
    if suite.is_always_run:
        return Choice(suite, is_run=True, reason="always")
    if is_all_run:
        return Choice(suite, is_run=True, reason="CI_ALL is set")
    if suite.name not in changes:
        reason = ".ci/verified names no commit for it, or its command has changed"
        return Choice(suite, is_run=True, reason=reason)
    changed = changes[suite.name]
    if changed is None:
        reason = "the commit that .ci/verified names for it is not in this checkout"
        return Choice(suite, is_run=True, reason=reason)
    needing = [path for path in changed if is_needed_by(table, suite, path)]
    if not needing:
        return Choice(suite, is_run=False, reason="nothing it depends on has changed")
    more = f" and {len(needing) - 1} more" if len(needing) > 1 else ""
    return Choice(suite, is_run=True, reason=f"{needing[0]}{more} changed")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
