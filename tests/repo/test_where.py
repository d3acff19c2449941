"""The table "Where a change goes" of docs/architecture.md leads to the right files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


def rows(page: Path, columns: int) -> list[list[str]]:
    """The cells of the rows of tables with so many columns, without the heads."""
    cells = [
        [cell.strip() for cell in line.strip("|\n ").split(" | ")]
        for line in page.read_text().splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]
    return [row for row in cells if len(row) == columns]


TASKS = [row for row in rows(ROOT / "tests/data/where.md", 4) if row[0].isdigit()]
TABLE = dict(rows(ROOT / "docs/architecture.md", 2))


def named(cell: str) -> list[str]:
    """The paths between back quotes."""
    return re.findall(r"`([\w./*]+)`", cell)


def placed(path: str) -> Path:
    """A path of the repository: the master's paths are written without their package."""
    of_others = path.startswith(("determined/", "determined_agent/"))
    return SOURCE / path if of_others else SOURCE / "determined_master" / path


def leads_to(cell: str, path: str) -> bool:
    """Whether a row names the file, its package, or the form of its package."""
    for given in named(cell):
        pattern = re.sub(r"\b[A-Z]+\b", r"\\w+", re.escape(given.rstrip("/")))
        if re.match(rf"{pattern}(/|$)", path):
            return True
    return False


def test_there_are_twenty_tasks() -> None:
    assert [row[0] for row in TASKS] == [str(n) for n in range(1, 21)]


@pytest.mark.parametrize("task", TASKS, ids=[row[1] for row in TASKS])
def test_the_table_leads_to_the_files_of_a_task(task: list[str]) -> None:
    _, _, row, answer = task
    files = named(answer)
    assert 1 <= len(files) <= 3
    assert [f for f in files if not placed(f).is_file()] == []
    assert row in TABLE
    assert [f for f in files if not leads_to(TABLE[row], f)] == []
