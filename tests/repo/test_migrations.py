"""Migrations are one line of numbers: two that were written beside each other may not meet."""

from __future__ import annotations

import ast
from pathlib import Path

VERSIONS = Path(__file__).parents[2] / "src/determined_master/store/migrations/versions"


def faults(versions: Path) -> list[str]:
    """What is wrong with a directory's migrations; read from the files' texts alone."""
    told = []
    before: str | None = None
    for n, number in enumerate(sorted({path.name[:4] for path in versions.glob("[0-9]*")}), 1):
        names = sorted(path.name for path in versions.glob(f"{number}_*"))
        if len(names) != 2 or names != [f"{names[0][:-3]}.py", f"{names[0][:-3]}.sql"]:
            told.append(f"{number} is one .py and one .sql of one name, there are {names}")
        if number != f"{n:04}":
            told.append(f"{number} comes after {before}")
        for name in (name for name in names if name.endswith(".py")):
            told += _unordered(versions / name, number, before)
        before = number
    return told


def _unordered(path: Path, number: str, before: str | None) -> list[str]:
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = ast.literal_eval(node.value)
    wanted = {"revision": number, "down_revision": before}
    return [
        f"{path.name} has {name} = {found.get(name)!r}, not {value!r}"
        for name, value in wanted.items()
        if found.get(name, "") != value
    ]


def write(versions: Path, name: str, revision: str, before: str | None) -> None:
    (versions / f"{name}.py").write_text(f"revision = {revision!r}\ndown_revision = {before!r}\n")
    (versions / f"{name}.sql").write_text("SELECT 1")


def test_every_migration_has_a_number_of_its_own_and_follows_the_one_before() -> None:
    assert sorted(VERSIONS.glob("*.sql"))
    assert faults(VERSIONS) == []


def test_two_migrations_with_one_number_are_told_by_their_names(tmp_path: Path) -> None:
    write(tmp_path, "0001_engine", "0001", None)
    write(tmp_path, "0002_notes", "0002", "0001")
    assert faults(tmp_path) == []
    write(tmp_path, "0002_idle", "0002", "0001")
    [fault] = faults(tmp_path)
    assert "0002_idle.sql" in fault
    assert "0002_notes.sql" in fault


def test_a_migration_that_was_renumbered_by_half_is_told(tmp_path: Path) -> None:
    write(tmp_path, "0001_engine", "0001", None)
    write(tmp_path, "0003_idle", "0002", "0001")
    assert faults(tmp_path) == [
        "0003 comes after 0001",
        "0003_idle.py has revision = '0002', not '0003'",
    ]
