"""The table of suites: what each one runs, and what it depends on."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests/suites.toml"
LEAST_SLOWNESS = 1.2
"""A machine may become slower while it runs."""


@dataclass(frozen=True)
class Suite:
    """A row of the table.

    `paths` and `elsewhere` together name all that the suite reads: a change below one of `paths`
    needs a run of it, a change below a key of `elsewhere` needs a run of the suite that is its
    value. The longest of these paths decides.
    """

    name: str
    claim: str
    command: str
    minutes: float
    """Measured on two cores."""
    limit_minutes: float
    """A run that takes longer hangs and is ended."""
    is_always_run: bool = False
    within: str = ""
    """Another suite whose run contains this one."""
    entries: Sequence[str] = ()
    """Files and directories of tests that the command runs."""
    paths: Sequence[str] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """All suites in the order of their runs; `shared` are paths on which all depend."""

    shared: Sequence[str]
    suites: Sequence[Suite]

    def suite(self, name: str) -> Suite:
        """The suite of that name.

        Raises:
            KeyError: there is none.
        """
        for suite in self.suites:
            if suite.name == name:
                return suite
        names = ", ".join(s.name for s in self.suites)
        raise KeyError(f"no suite is called {name!r}; there are {names}")


def read_table(text: str | None = None) -> Table:
    """The table of a text in the form of `tests/suites.toml`; without one, that of the file."""
    content = tomllib.loads(TABLE.read_text() if text is None else text)
    return Table(tuple(content["shared"]), tuple(Suite(**row) for row in content["suite"]))


def is_below(path: str, parent: str) -> bool:
    """Whether a path is that file, or lies in that directory; `*` stands for a part of a name."""
    if "*" in parent:
        directory, _, pattern = parent.rpartition("/")
        above, _, name = path.rpartition("/")
        return above == directory and fnmatchcase(name, pattern)
    return path == parent or path.startswith(f"{parent}/")


def deciding_path(suite: Suite, path: str) -> str | None:
    """The longest path of the suite's row that covers a file; None where none does."""
    covering = [p for p in (*suite.paths, *suite.elsewhere) if is_below(path, p)]
    return max(covering, key=len, default=None)


def is_needed_by(table: Table, suite: Suite, path: str) -> bool:
    """Whether a change of this file needs a run of the suite."""
    if any(is_below(path, shared) for shared in table.shared):
        return True
    return deciding_path(suite, path) in suite.paths


def has_time(suite: Suite, elapsed_minutes: float, budget_minutes: float, slowness: float) -> bool:
    """Whether the suite ends within the budget on a machine that takes so many times as long."""
    return suite.is_always_run or elapsed_minutes + suite.minutes * slowness <= budget_minutes


def parts_always_run(table: Table, suite: Suite) -> list[Suite]:
    """The parts of a suite that run even where there is no time for the suite."""
    return [part for part in table.suites if part.within == suite.name and part.is_always_run]


def slowness(runs: Iterable[tuple[Suite, float]]) -> float:
    """How many times as long as in the table suites take here, at least `LEAST_SLOWNESS`.

    Args:
        runs: suites that have ended, and the seconds of each.
    """
    runs = list(runs)
    expected_s = sum(suite.minutes * 60 for suite, _ in runs)
    return max(LEAST_SLOWNESS, sum(s for _, s in runs) / expected_s if expected_s else 0.0)


def uncovered(table: Table, suite: Suite, paths: Iterable[str]) -> list[str]:
    """Files that the suite reads and its row does not name."""
    return sorted(
        path
        for path in paths
        if deciding_path(suite, path) is None
        and not any(is_below(path, shared) for shared in table.shared)
    )


def faults(table: Table, exists: Iterable[str]) -> list[str]:
    """What is wrong in the table itself: names of no file, and claims that nothing proves.

    Args:
        table: any table.
        exists: all files of the repository.
    """
    files = list(exists)
    lines: list[str] = []
    for suite in table.suites:
        for path in (*suite.entries, *suite.paths, *suite.elsewhere):
            if not any(is_below(file, path) for file in files):
                lines.append(f"{suite.name}: {path} is no file of the repository")
        lines += _unproven(table, suite, files)
    return lines


def _unproven(table: Table, suite: Suite, files: Iterable[str]) -> list[str]:
    """For each path of `elsewhere` the first file whose change does not run the named suite."""
    lines: dict[str, str] = {}
    for file in files:
        path = deciding_path(suite, file)
        if path is None or path in suite.paths:
            continue
        prover = table.suite(suite.elsewhere[path])
        if not prover.is_always_run and not is_needed_by(table, prover, file):
            lines.setdefault(path, f"{suite.name}: a change of {file} does not run {prover.name}")
    return list(lines.values())
