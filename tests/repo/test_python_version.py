"""`make lint` reports what needs a later Python than `pyproject.toml` promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RELEASES = {
    "3.9": ["src/determined", "examples"],
    "3.11": ["src/determined_master", "src/determined_agent", "src/determined_wire"],
}


def commands() -> list[list[str]]:
    """Of `make lint`, those that look for a later Python."""
    command = ["make", "-n", "lint", "BIN=.", "STAMP="]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in printed.splitlines()]
    return [words for words in lines if words and words[0] == "./vermin"]


def test_all_that_runs_elsewhere_is_checked() -> None:
    checked = {words[4].removeprefix("-t=").removesuffix("-"): words[5:] for words in commands()}
    assert checked == RELEASES


@pytest.mark.parametrize(
    "line", ["import tomllib", "zip([], strict=True)", "match 1:\n  case 1: pass"]
)
def test_a_newer_version_is_reported(line: str, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(line + "\n")
    options = commands()[0][1:5]
    start = [sys.executable, "-c", "from vermin import main; main()"]
    ended = subprocess.run(
        [*start, *options, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode != 0
    assert "new.py" in ended.stdout
