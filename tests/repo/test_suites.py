"""What CI leaves out cannot break: the table of suites names all that a suite reads."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tools.suites import runs
from tools.suites.changes import (
    TABLE_PATH,
    VERIFIED,
    changed_files,
    changes_by_suite,
    choose,
    tracked_files,
)
from tools.suites.history import faults_of, growth, title_faults
from tools.suites.reads import are_access_times_kept, files_read, reset_access_times
from tools.suites.references import sources_of
from tools.suites.runs import Result
from tools.suites.table import (
    ROOT,
    Suite,
    Table,
    deciding_path,
    faults,
    has_time,
    parts_always_run,
    read_table,
    slowness,
    uncovered,
)
from tools.suites.table import TABLE as TABLE_FILE
from tools.suites.verified import faults_of_verified, verified_text

TABLE = read_table()
OPTIONAL = [suite for suite in TABLE.suites if not suite.is_always_run]
DUE = ".ci/verified names no commit for it, or its command has changed"
TRIALS = "src/determined/pytorch/__init__.py"
FLEETS = "src/determined_master/backends/aws/fleets.py"
SCHEDULER = "src/determined_master/domain/schedule/why.py"


@cache
def files_named_by(name: str) -> frozenset[str]:
    return frozenset(sources().closure(TABLE.suite(name).entries))


@cache
def sources():
    return sources_of()


def run_for(changed: Sequence[str] | None) -> list[Suite]:
    """What runs when these files have changed since all suites passed together."""
    changes = dict.fromkeys((suite.name for suite in TABLE.suites), changed)
    return [c.suite for c in choose(TABLE, changes) if c.is_run]


def names_for(changed: Sequence[str] | None) -> set[str]:
    return {suite.name for suite in run_for(changed)}


def minutes_for(changed: Sequence[str] | None) -> float:
    return sum(suite.minutes for suite in run_for(changed))


def test_the_table_names_files_that_there_are_and_suites_that_prove_them() -> None:
    assert faults(TABLE, tracked_files()) == []


@pytest.mark.parametrize("name", [suite.name for suite in TABLE.suites])
def test_no_argument_of_a_command_has_two_lines(name: str) -> None:
    """Make would run the second line as a command of its own."""
    for line in TABLE.suite(name).command.splitlines():
        shlex.split(line)


@pytest.mark.slow
@pytest.mark.parametrize("name", [suite.name for suite in OPTIONAL])
def test_a_row_names_all_that_the_sources_of_its_suite_name(name: str) -> None:
    assert uncovered(TABLE, TABLE.suite(name), files_named_by(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [suite.name for suite in OPTIONAL])
def test_a_row_without_a_path_that_its_suite_reads_fails(name: str) -> None:
    suite = TABLE.suite(name)
    own = uncovered(TABLE, replace(suite, paths=(), elsewhere={}), files_named_by(name))
    read = max(own, key=lambda file: (deciding_path(suite, file) or "", file))
    shorter = replace(
        suite,
        paths=[p for p in suite.paths if not read.startswith(p.partition("*")[0])],
        elsewhere={p: n for p, n in suite.elsewhere.items() if not read.startswith(p)},
    )
    assert read in uncovered(TABLE, shorter, files_named_by(name))


def test_a_suite_that_proves_nothing_of_a_path_is_a_fault() -> None:
    torch = TABLE.suite("torch")
    wrong = Table(TABLE.shared, [replace(torch, elsewhere={"webui": "torch"}), *TABLE.suites])
    listed = faults(wrong, ["webui/src/main.tsx"])
    assert "torch: a change of webui/src/main.tsx does not run torch" in listed


@pytest.mark.parametrize(
    ("changed", "suites", "minutes"),
    [
        (["docs/metrics.md"], set(), 15),
        ([SCHEDULER], {"clusters", "figures"}, 35),
        (["webui/src/main.tsx"], {"browser", "figures"}, 35),
        ([FLEETS], {"clusters", "deployments", "figures"}, 35),
        ([TRIALS], {"clusters", "figures", "frameworks", "torch"}, 35),
        (["deploy/helm/determined/Chart.yaml"], {"clusters", "deployments", "kubernetes"}, 42),
    ],
)  # fmt: skip
def test_a_change_runs_what_it_can_break(
    changed: list[str], suites: set[str], minutes: float
) -> None:
    always = {s.name for s in TABLE.suites if s.is_always_run}
    assert names_for(changed) - always == suites
    assert minutes_for(changed) <= minutes


def test_everything_takes_at_most_75_minutes() -> None:
    assert names_for(None) == {s.name for s in TABLE.suites} - {"small"}
    assert minutes_for(None) <= 75


@pytest.mark.parametrize("path", [".ci/run", "Makefile", "pyproject.toml", "requirements/dev.txt"])
def test_a_change_of_what_all_share_runs_everything(path: str) -> None:
    assert names_for([path]) == names_for(None)


def test_a_part_of_a_suite_that_runs_is_left_out_with_the_reason() -> None:
    changes = {suite.name: [SCHEDULER] for suite in TABLE.suites}
    reasons = {c.suite.name: c.reason for c in choose(TABLE, changes) if not c.is_run}
    assert reasons["small"] == "it is part of clusters"
    assert reasons["torch"] == "nothing it depends on has changed"


def test_a_suite_starts_only_when_it_can_end_within_the_budget() -> None:
    suite = replace(TABLE.suite("kubernetes"), minutes=10)
    assert has_time(suite, 72, 84, 1.2)
    assert not has_time(suite, 72.1, 84, 1.2)
    assert not has_time(suite, 72, 84, 1.3)
    assert has_time(TABLE.suite("tests"), 1000, 84, 2.0)


def test_the_part_that_always_runs_is_run_where_its_suite_has_no_time() -> None:
    parts = parts_always_run(TABLE, TABLE.suite("clusters"))
    assert [part.name for part in parts] == ["small"]
    assert parts_always_run(TABLE, TABLE.suite("browser")) == []


def test_a_machine_is_as_slow_as_it_was_with_the_suites_before() -> None:
    lint, tests = (replace(TABLE.suite(name), minutes=2) for name in ("lint", "tests"))
    assert slowness([]) == slowness([(lint, 60.0)]) == 1.2
    assert slowness([(lint, 60.0), (tests, 420.0)]) == 2.0


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    command = ["git", "-C", str(root), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_changes_are_those_since_the_commit_and_those_not_committed(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    for name in ("kept", "renamed", "edited"):
        (tmp_path / name).write_text(name * 50)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "mv", "renamed", "moved")
    git(tmp_path, "commit", "--quiet", "-m", "second")
    (tmp_path / "edited").write_text("other")
    (tmp_path / "new").write_text("new")
    assert changed_files(commit, tmp_path) == ["edited", "moved", "new", "renamed"]


def test_titles_since_a_commit_are_checked_and_its_growth_is_counted(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "old, and never looked at")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a").write_text("1\n2\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "src: write two lines", "-m", "Users saw none.")
    assert title_faults(commit, tmp_path) == []
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "wip")
    [form, body] = title_faults(commit, tmp_path)
    assert form.endswith("the title is not of the form 'part: imperative': wip")
    assert "the body is empty" in body
    assert list(growth(commit, tmp_path)) == [f"src: 2 lines added, 0 deleted since {commit[:12]}"]
    assert title_faults("0" * 40, tmp_path) == []


@pytest.mark.parametrize(
    ("title", "fault"),
    [
        ("web UI: mend the list", ""),
        ("tests/e2e, docs: add a page", ""),
        ("det: webhook creates, lists and deletes webhooks", ""),
        ("tests: seed the network", ""),
        ("det: string two lists together", ""),
        ("det: embed the page", ""),
        ("det: proceed after a fault", ""),
        ("det: " + "x" * 61, "has 66 characters, at most 65"),
        ("fixed it", "not of the form"),
        ("det:mend it", "not of the form"),
        ("det: fixed the list", "does not say what the commit does"),
        ("det: fixing the list", "does not say what the commit does"),
        ("det: running lists", "does not say what the commit does"),
        ("det: Added a list", "does not say what the commit does"),
    ],
)
def test_a_title_is_a_part_and_an_imperative(title: str, fault: str) -> None:
    listed = list(faults_of(title, "why"))
    assert [fault] == [fault for text in listed if fault in text] if fault else listed == []


def test_a_suite_with_another_command_is_due(tmp_path: Path) -> None:
    path = tmp_path / TABLE_PATH
    path.parent.mkdir()
    path.write_text(TABLE_FILE.read_text())
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    commits = dict.fromkeys(("fuzz", "torch"), git(tmp_path, "rev-parse", "HEAD"))
    path.write_text(path.read_text().replace("REQUESTS=20000", "REQUESTS=1"))
    table = read_table(path.read_text())
    assert changes_by_suite(table, commits, tmp_path) == {"torch": [TABLE_PATH]}


def test_a_commit_that_is_not_here_gives_no_changes_and_runs_everything() -> None:
    assert changed_files("0" * 40) is None
    assert names_for(None) >= {suite.name for suite in OPTIONAL}


def test_reads_of_another_process_are_seen(tmp_path: Path) -> None:
    if not are_access_times_kept(tmp_path):
        pytest.skip("this file system keeps no times of access (noatime)")
    for name in ("read", "listed"):
        (tmp_path / name).write_text(name)
    reset_access_times(tmp_path, ["read", "listed", "missing"])
    code = "import os, sys; open(sys.argv[1]).read(); os.stat(sys.argv[2])"
    command = [sys.executable, "-c", code, str(tmp_path / "read"), str(tmp_path / "listed")]
    subprocess.run(command, check=True)
    assert files_read(tmp_path, ["read", "listed", "missing"]) == ["read"]


def test_each_suite_has_changes_of_its_own() -> None:
    changes = {suite.name: [] for suite in OPTIONAL} | {"browser": [SCHEDULER], "fuzz": None}
    del changes["torch"], changes["figures"]
    changes["clusters"] = [SCHEDULER]
    reasons = {c.suite.name: c.reason for c in choose(TABLE, changes) if c.is_run}
    assert {name: reasons.get(name) for name in (suite.name for suite in OPTIONAL)} == {
        "browser": None,  # what the scheduler does is proven by whole clusters
        "clusters": f"{SCHEDULER} changed",
        "fuzz": "the commit that .ci/verified names for it is not in this checkout",
        "torch": DUE,
        "deployments": None,
        "frameworks": None,
        "installed": None,
        "unprivileged": None,
        "bare": None,
        "figures": DUE,
        "kubernetes": None,
    }
    assert {c.suite.name for c in choose(TABLE, changes, is_all_run=True) if c.is_run} == {
        suite.name for suite in TABLE.suites if suite.name != "small"
    }


def test_the_verified_file_has_the_last_commit_on_which_each_suite_passed() -> None:
    day = "2026-11-29"
    first = {
        "fuzz": Result("fuzz", "c0ffee", 0, 10, day),
        "torch": Result("torch", "c0ffee", 0, 20, day),
        "bare": Result("bare", "c0ffee", 1, 30, day),
        "browser": Result("browser", "c0ffee+", 0, 40, day),
        "kubernetes": Result("kubernetes", "c0ffee", 0, 1, day, skipped="no root"),
    }
    text = verified_text(TABLE, "", first, lambda _: True)
    assert faults_of_verified(TABLE, text) == []
    passed = {
        "fuzz": {"commit": "c0ffee", "day": day, "seconds": 10},
        "torch": {"commit": "c0ffee", "day": day, "seconds": 20},
    }
    assert tomllib.loads(text) == passed
    second = {
        "fuzz": Result("fuzz", "beef", 0, 11, "2026-11-30"),
        "torch": Result("torch", "beef", 124, 21, "2026-11-30"),
        "bare": Result("bare", "other", 0, 31, "2026-11-30"),
    }
    text = verified_text(TABLE, text, second, lambda commit: commit != "other")
    passed["fuzz"] = {"commit": "beef", "day": "2026-11-30", "seconds": 11}
    assert tomllib.loads(text) == passed


def test_a_suite_that_this_machine_cannot_run_has_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RESULTS", tmp_path)
    suite = Suite("some", "a claim", 'echo "no root" > "$SKIPPED_FILE"', 1, 1, is_always_run=True)
    result = runs.run_suite(TABLE, suite, {})
    assert (result.status, result.skipped, result.is_passed) == (0, "no root", False)
    again = runs.run_suite(TABLE, replace(suite, command="true"), {})
    assert (again.skipped, again.is_passed) == ("", True)
    assert [r.is_passed for r in runs.results().values()] == [True]


def test_each_script_that_leaves_itself_out_says_so_in_the_file() -> None:
    scripts = [ROOT / "Makefile", *sorted((ROOT / "tests").glob("*.sh"))]
    lines = [line for path in scripts for line in path.read_text().splitlines()]
    places = [n for n, line in enumerate(lines) if " is skipped: " in line]
    assert len(places) == 4
    for n in places:
        assert "SKIPPED_FILE" in lines[n] + lines[n + 1], lines[n]


def test_a_wrong_verified_file_is_described() -> None:
    text = '[fuzz]\ncommit = "c0ffee"\nday = "2026-11-29"\n[other]\n'
    assert set(faults_of_verified(TABLE, text)) == {
        "there is no suite other",
        "fuzz lacks seconds",
        *(f"other lacks {key}" for key in ("commit", "day", "seconds")),
    }


def test_the_verified_file_of_this_checkout_is_whole() -> None:
    if VERIFIED.exists():
        assert faults_of_verified(TABLE, VERIFIED.read_text()) == []
