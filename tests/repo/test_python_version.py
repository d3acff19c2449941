"""`make lint` reports what needs a later Python than `pyproject.toml` promises."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tools.oldest_python import check

ROOT = Path(__file__).parents[2]
RELEASES = {
    "3.9": ["src/determined", "src/determined_deploy", "examples"],
    "3.11": ["src/determined_master", "src/determined_agent", "src/determined_wire"],
}


def test_all_that_runs_elsewhere_is_checked() -> None:
    command = ["make", "-n", "lint", "BIN=.", "STAMP="]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in printed.splitlines()]
    checks = [words[2:] for words in lines if words[1:2] == ["tools/oldest_python.py"]]
    assert {release: paths for release, *paths in checks} == RELEASES


@pytest.mark.parametrize(
    "line", ["import tomllib", "zip([], strict=True)", "match 1:\n  case 1: pass"]
)
def test_a_newer_version_is_reported(line: str, tmp_path: Path, capfd) -> None:
    (tmp_path / "new.py").write_text(line + "\n")
    assert check("3.9", [tmp_path], tmp_path / "passed") != 0
    assert "new.py" in capfd.readouterr().out


def test_a_file_that_needs_a_later_python_is_reported_until_it_is_changed(
    tmp_path: Path, capfd
) -> None:
    source, passed = tmp_path / "new.py", tmp_path / "passed"
    source.write_text("import tomllib\n")
    for _ in range(2):
        assert check("3.9", [source], passed) != 0
        assert "new.py" in capfd.readouterr().out
    assert not passed.exists()
    source.write_text("import json\n")
    assert check("3.9", [source], passed) == 0


def test_a_file_that_passed_is_read_again_when_it_changes(tmp_path: Path, monkeypatch) -> None:
    read: list[list[str]] = []
    run = subprocess.run

    def recorded(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        read.append([Path(word).name for word in command if word.endswith(".py")])
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", recorded)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"import json  # {name}\n")
    passed = tmp_path / "passed"
    assert check("3.9", [tmp_path], passed) == 0
    assert check("3.9", [tmp_path], passed) == 0
    (tmp_path / "b.py").write_text("import tomllib\n")
    assert check("3.9", [tmp_path], passed) != 0
    assert read == [["a.py", "b.py"], ["b.py"]]
