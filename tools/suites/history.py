"""Titles of the commits since the last verified one, and the lines that they add."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.suites.changes import changed_files
from tools.suites.table import ROOT

MAX_TITLE = 65
_PACKAGES = ("src", "tests", "webui", "bench", "tools", "deploy", "docs")
_TITLE = re.compile(r"[A-Za-z0-9_./,-]+(?: [A-Za-z0-9_./,-]+){0,3}: (\S+)(?: .*)?")
_NOT_IMPERATIVE = re.compile(r".*[aeiouy].*(?:(?<!e)ed|ing)")
"""A stem with a vowel and its ending: not shed, bring or string, and not seed or proceed."""
_VERBS = {"embed"}
"""Imperatives that end like other forms all the same."""


def title_faults(commit: str | None, root: Path = ROOT) -> list[str]:
    """What is wrong with titles and bodies of commits since this one.

    None are known where the commit is not in this checkout, as in a shallow clone.
    """
    if commit is None or changed_files(commit, root) is None:
        return []
    listed = _git(root, "log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", f"{commit}..HEAD")
    entries = [entry.strip("\n") for entry in listed.split("\x1e")]
    return [
        f"commit {name}: {fault}"
        for entry in entries
        if entry
        for name, title, body in [entry.split("\x1f")]
        for fault in faults_of(title, body)
    ]


def faults_of(title: str, body: str) -> Iterator[str]:
    """What is wrong with one commit's message."""
    if len(title) > MAX_TITLE:
        yield f"the title has {len(title)} characters, at most {MAX_TITLE} are allowed: {title}"
    match = _TITLE.fullmatch(title)
    if match is None:
        yield f"the title is not of the form 'part: imperative': {title}"
    elif _NOT_IMPERATIVE.fullmatch(match[1].lower()) and match[1].lower() not in _VERBS:
        yield f"the title does not say what the commit does, as in 'part: mend …': {title}"
    if not body.strip():
        yield f"the body is empty: say what users saw, and why: {title}"


def growth(commit: str | None, root: Path = ROOT) -> Iterator[str]:
    """Lines added and deleted since a commit, by package."""
    if commit is None or changed_files(commit, root) is None:
        return
    counts = [line.split("\t") for line in _git(root, "diff", "--numstat", commit).splitlines()]
    for package in _PACKAGES:
        rows = [row for row in counts if row[2].startswith(f"{package}/") and row[0].isdigit()]
        added, deleted = (sum(int(row[column]) for row in rows) for column in (0, 1))
        if added or deleted:
            yield f"{package}: {added} lines added, {deleted} deleted since {commit[:12]}"


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
