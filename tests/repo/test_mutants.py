"""The changes of tables that `make mutants` makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutants import LEAST, PACKAGES, ROOT, Outcome, main
from tools.table_mutants import changes, run_tables

TABLES = '''\
"""A module."""
OPEN = frozenset({("read", "log"), "ä"})
NEEDS = {
    "read": _any(P.VIEW, P.EDIT),  # a remark
    "edit": None,
}
LIMIT = 3


def rule():
    return {"not": "a table"}
'''


def test_each_entry_of_a_table_is_left_out_once() -> None:
    made = list(changes("m.py", TABLES))
    assert [change.name for change in made] == [
        'm.py:2 without ("read", "log")',
        'm.py:2 without "ä"',
        'm.py:4 without "read": _any(P.VIEW, P.EDIT)',
        'm.py:5 without "edit": None',
        "m.py:4 without P.VIEW",
        "m.py:4 without P.EDIT",
    ]
    assert '{ "ä"}' in made[0].text
    assert '{("read", "log"), }' in made[1].text
    assert "_any( P.EDIT)" in made[4].text
    for change in made:
        compile(change.text, "m.py", "exec")


def test_every_named_source_and_test_is_there() -> None:
    for package in PACKAGES.values():
        for path in (*package.sources, *package.tests, *package.tables, *package.table_tests):
            assert list(ROOT.glob(path)), path
    assert LEAST == 85


def test_the_percentage_counts_what_was_noticed_of_all() -> None:
    assert Outcome(17, ["one", "two", "three"]).percent == 85.0
    assert Outcome(0, []).percent == 0.0


def test_an_unknown_package_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine"]) == 2
    assert "no package 'engine': one of access, addresses, limits, proxy, routes, sch" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
def test_a_change_is_noticed_when_a_test_fails_and_else_survives(tmp_path: Path) -> None:
    (tmp_path / "src" / "part").mkdir(parents=True)
    (tmp_path / "src" / "part" / "__init__.py").write_text("")
    module = "src/part/table.py"
    (tmp_path / module).write_text("TABLE = {'tested', 'forgotten'}\n")
    (tmp_path / "test_table.py").write_text(
        "from part.table import TABLE\n\n\ndef test_it():\n    assert 'tested' in TABLE\n"
    )
    found = dict(run_tables(tmp_path, [module], ["test_table.py"]))
    assert found == {
        f"{module}:1 without 'tested'": True,
        f"{module}:1 without 'forgotten'": False,
    }
    assert (tmp_path / module).read_text() == "TABLE = {'tested', 'forgotten'}\n"
