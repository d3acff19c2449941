"""Ignore patterns mean what they mean to git; git itself is the judge where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from determined.common.ignore import Ignore

CASES = [
    ("*.log", "a.log", True),
    ("*.log", "d/a.log", True),
    ("/a", "a", True),
    ("/a", "d/a", False),
    ("d/a", "d/a", True),
    ("d/a", "x/d/a", False),
    ("**/a", "x/y/a", True),
    ("x/**", "x/y/a", True),
    ("x/**", "x", False),
    ("x/**/a", "x/a", True),
    ("x/**/a", "x/y/z/a", True),
    ("?.py", "a.py", True),
    ("?.py", "ab.py", False),
    ("[ab].py", "b.py", True),
    ("[!ab].py", "b.py", False),
    ("# no", "# no", False),
    (r"\#x", "#x", True),
    ("a ", "a", True),
    ("*", "anything", True),
    ("a*b", "a/b", False),
    (".*", ".hidden", True),
    ("a.b", "aXb", False),
    ("[z-a]", "b", False),
    ("[[a].py", "[.py", True),
    ("[a&&b].py", "&.py", True),
]


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
