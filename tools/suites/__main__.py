"""Choose, run and verify the suites of tests/suites.toml.

python3 -m tools.suites list           what would run now, and why
python3 -m tools.suites ci             run that (CI_ALL=1: everything)
python3 -m tools.suites run NAME ...   run these
python3 -m tools.suites reads NAME     files that the sources of a suite name, and its row not
python3 -m tools.suites titles         what is wrong with the titles of commits that CI will see
python3 -m tools.suites verify         write the suites that have passed here to .ci/verified
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from tools.suites.changes import (
    VERIFIED,
    Choice,
    changes_by_suite,
    choose,
    is_ancestor,
    tracked_files,
    verified_commits,
)
from tools.suites.history import growth, title_faults
from tools.suites.references import sources_of
from tools.suites.runs import Result, describe_failure, results, run_suite
from tools.suites.table import (
    Suite,
    Table,
    faults,
    has_time,
    parts_always_run,
    read_table,
    slowness,
    uncovered,
)
from tools.suites.verified import verified_text

DEFAULT_CI_MINUTES = 45.0
_SHOWN = 5


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.suites", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("action", choices=("list", "ci", "run", "reads", "titles", "verify"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(arguments)
    table = read_table()
    wrong = faults(table, tracked_files())
    if wrong:
        print("tests/suites.toml:", *wrong, sep="\n  ", file=sys.stderr)
        return 2
    try:
        suites = [table.suite(name) for name in options.names]
    except KeyError as error:
        parser.error(str(error.args[0]))
    match options.action:
        case "list":
            _print_choices(_choices(table))
            return 0
        case "ci":
            if _print_wrong_titles():
                return 1
            minutes = float(os.environ.get("CI_MINUTES") or DEFAULT_CI_MINUTES)
            return _run_chosen(table, _choices(table), minutes)
        case "run":
            return _run_chosen(table, [Choice(s, is_run=True, reason="named") for s in suites])
        case "reads":
            return _print_reads(table, suites)
        case "titles":
            return _print_wrong_titles()
        case _:
            return _verify(table)


def _choices(table: Table) -> list[Choice]:
    changes = changes_by_suite(table, verified_commits())
    return choose(table, changes, is_all_run=bool(os.environ.get("CI_ALL")))


def _print_wrong_titles() -> int:
    """The exit status."""
    wrong = title_faults(verified_commits().get("tests"))
    for fault in wrong:
        print(f"ci: {fault}")
    return 1 if wrong else 0


def _run_chosen(
    table: Table, choices: Sequence[Choice], budget_minutes: float = float("inf")
) -> int:
    """Run; the first failure ends the run, with the reason as the last line.

    A suite that cannot end within the budget, as slow as the machine has been so far, is left out,
    and the last lines say so: it would cost the results of all others.
    """
    _print_choices(choices)
    started = time.monotonic()
    done: list[Result] = []
    late: list[str] = []
    waiting = [choice.suite for choice in choices if choice.is_run]
    for suite in waiting:
        factor = slowness((table.suite(each.suite), each.seconds) for each in done)
        if not has_time(suite, (time.monotonic() - started) / 60, budget_minutes, factor):
            late.append(suite.name)
            waiting += parts_always_run(table, suite)
            continue
        print(f"ci: {suite.name}: {suite.command}", flush=True)
        result = run_suite(table, suite, {"AGAIN": "1"})
        done.append(result)
        total = round(time.monotonic() - started)
        print(f"ci: {suite.name}: {result.seconds} s, {total} s in all", flush=True)
        _print_unnamed(result)
        if result.status:
            _print_end(choices, done)
            print(f"ci: {describe_failure(result, suite.limit_minutes)}")
            return 1
    _print_end(choices, done)
    for name in late:
        print(
            f"ci: left out: {name}, as it does not end within {budget_minutes:g} minutes. Run "
            f"it with python3 -m tools.suites run {name}; it is due until .ci/verified changes"
        )
    return 0


def _print_choices(choices: Sequence[Choice]) -> None:
    for choice in choices:
        word = "runs" if choice.is_run else "is left out"
        minutes = f"about {choice.suite.minutes:g} min" if choice.is_run else choice.suite.claim
        print(f"ci: {choice.suite.name} {word}: {choice.reason} ({minutes})")
    print(f"ci: about {sum(c.suite.minutes for c in choices if c.is_run):.0f} minutes", flush=True)


def _print_end(choices: Sequence[Choice], done: Sequence[Result]) -> None:
    """The last lines: lines added and deleted, what ran, the longest first, and what did not."""
    for line in growth(verified_commits().get("tests")):
        print(f"ci: {line}")
    for result in sorted(done, key=lambda r: -r.seconds):
        print(f"ci: {result.seconds} s: {result.suite}")
    for choice in choices:
        if not choice.is_run:
            print(f"ci: left out: {choice.suite.name}, because {choice.reason}")
    for result in done:
        if result.skipped:
            print(f"ci: not run here: {result.suite}, which stays due: {result.skipped}")
    total = sum(result.seconds for result in done)
    print(f"ci: {total} s in all", flush=True)


def _print_unnamed(result: Result) -> None:
    if result.unnamed:
        paths = ", ".join(result.unnamed[:_SHOWN])
        more = f" and {len(result.unnamed) - _SHOWN} more" if len(result.unnamed) > _SHOWN else ""
        line = f"{result.suite} or git read {paths}{more}, which its row does not name"
        print(f"ci: {line}", flush=True)


def _print_reads(table: Table, suites: Sequence[Suite]) -> int:
    sources = sources_of()
    status = 0
    for suite in suites or [s for s in table.suites if not s.is_always_run]:
        for path in uncovered(table, suite, sources.closure(suite.entries)):
            print(f"{suite.name}: {path}")
            status = 1
    return status


def _verify(table: Table) -> int:
    """Write the file, and print what is still due."""
    before = VERIFIED.read_text() if VERIFIED.exists() else ""
    VERIFIED.write_text(verified_text(table, before, results(), is_ancestor))
    due = [c for c in _choices(table) if c.is_run and c.reason != "always"]
    for choice in due:
        print(f"due: {choice.suite.name}, because {choice.reason}")
    for name, result in results().items():
        if not result.is_passed:
            word = "not run" if result.skipped else "failed"
            print(f"{word} at its last run here: {name}, on {result.commit[:13]}")
    if not due:
        print("each suite has passed on all that it depends on")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
