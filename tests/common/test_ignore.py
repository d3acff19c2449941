"""Ignore patterns mean what they mean to git; git itself is the judge where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from determined.common.ignore import Ignore

DATA = Path(__file__).parents[1] / "data" / "ignore_patterns.json"
CASES: list[tuple[str, str, bool]] = [tuple(case) for case in json.loads(DATA.read_text())]
"""Pattern, path, covered: the web UI reads the same patterns by the same cases."""


@pytest.mark.parametrize(("pattern", "path", "covered"), CASES)
def test_a_pattern_covers_what_it_should(pattern: str, path: str, covered: bool) -> None:
    assert Ignore([pattern]).covers(path, is_directory=False) is covered


def test_a_slash_at_the_end_is_for_directories() -> None:
    rules = Ignore(["build/"])
    assert rules.covers("build", is_directory=True)
    assert not rules.covers("build", is_directory=False)


def test_the_last_rule_that_fits_decides() -> None:
    rules = Ignore(["*.log", "!keep.log", "keep.log.old"])
    assert not rules.covers("keep.log", is_directory=False)
    assert rules.covers("x.log", is_directory=False)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.slow
def test_git_agrees(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for pattern, path, covered in CASES:
        (tmp_path / ".gitignore").write_text(pattern + "\n")
        asked = subprocess.run(
            ["git", "-C", tmp_path, "check-ignore", "-q", "--no-index", path], check=False
        )
        assert (asked.returncode == 0) is covered, (pattern, path)
