"""What users import runs on the Python that `pyproject.toml` promises, which may not be here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOUSES_OF_3_9 = ("src/determined", "examples")
HOUSES_OF_3_11 = ("src/determined_master", "src/determined_agent", "src/determined_wire")


def newer_than(version: str, *paths: str) -> str:
    """What needs a later Python than `version`, in vermin's words; empty when nothing does."""
    start = "from vermin import main; main()"
    call = [sys.executable, "-c", start, "--quiet", "--no-tips", "--violations"]
    ended = subprocess.run(
        [*call, f"-t={version}-", *paths], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.returncode == 0 or ended.stdout, ended.stderr
    return ended.stdout


def test_the_client_runs_on_python_3_9() -> None:
    assert newer_than("3.9", *HOUSES_OF_3_9) == ""


def test_master_and_agent_run_on_python_3_11() -> None:
    assert newer_than("3.11", *HOUSES_OF_3_11) == ""


@pytest.mark.parametrize(
    "line", ["import tomllib", "zip([], strict=True)", "match 1:\n  case 1: pass"]
)
def test_a_newer_version_is_reported(line: str, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(line + "\n")
    assert "new.py" in newer_than("3.9", str(tmp_path))
