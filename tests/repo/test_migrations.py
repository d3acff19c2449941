"""Migrations have consecutive numbers: two written in parallel cannot take the same one."""

from __future__ import annotations

from pathlib import Path

MIGRATIONS = Path(__file__).parents[2] / "src/determined_master/store/migrations"


def faults(migrations: Path) -> list[str]:
    """What is wrong with a directory's migrations; read from the file names alone."""
    found = []
    before: str | None = None
    for n, number in enumerate(sorted({path.name[:4] for path in migrations.glob("[0-9]*")}), 1):
        names = sorted(path.name for path in migrations.glob(f"{number}_*"))
        if len(names) != 1 or not names[0].endswith(".sql"):
            found.append(f"{number} must be one .sql file, found {names}")
        if number != f"{n:04}":
            found.append(f"{number} comes after {before}")
        before = number
    return found


def test_migrations_have_consecutive_numbers() -> None:
    assert sorted(MIGRATIONS.glob("*.sql"))
    assert faults(MIGRATIONS) == []


def test_two_migrations_with_one_number_are_named(tmp_path: Path) -> None:
    (tmp_path / "0001_engine.sql").write_text("SELECT 1")
    (tmp_path / "0002_notes.sql").write_text("SELECT 1")
    assert faults(tmp_path) == []
    (tmp_path / "0002_idle.sql").write_text("SELECT 1")
    [fault] = faults(tmp_path)
    assert "0002_idle.sql" in fault
    assert "0002_notes.sql" in fault


def test_a_missing_number_is_named(tmp_path: Path) -> None:
    (tmp_path / "0001_engine.sql").write_text("SELECT 1")
    (tmp_path / "0003_idle.sql").write_text("SELECT 1")
    assert faults(tmp_path) == ["0003 comes after 0001"]


def test_a_migration_that_is_not_sql_is_named(tmp_path: Path) -> None:
    (tmp_path / "0001_engine.py").write_text("")
    assert faults(tmp_path) == ["0001 must be one .sql file, found ['0001_engine.py']"]
