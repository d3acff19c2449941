"""What a run of tests prints of those that it repeats."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.failures import name_of
from tools.run_tests import Failure, flaky, main, report

ROOT = Path(__file__).parents[2]
ONCE = """
from pathlib import Path

def test_fails_once():
    print("a line of the first run")
    place = Path(__file__).with_name("ran")
    assert place.exists() or place.touch(), "the weather"

def test_passes():
    pass
"""
TWICE = "def test_fails_twice():\n    assert not 'a defect'\n"
BROKEN = "import no_such_module\n"
FIRST = Failure("tests/a.py::test_b[1]", "call", "E  the text", 14.2, 4, 2)


def run(
    root: Path, text: str, *options: str, beside: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the tests of a file, and of one beside it, in a repository that has nothing else."""
    for name in ("tools/run_tests.py", "tests/failures.py"):
        (root / name).parent.mkdir()
        shutil.copy2(ROOT / name, root / name)
    (root / "docs").mkdir()
    (root / "docs/flaky.md").touch()
    (root / "tests/test_file.py").write_text(text)
    (root / "tests/test_beside.py").write_text(beside)
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PYTHONPATH"))}
    return subprocess.run(
        [sys.executable, "tools/run_tests.py", "--workers", "1", *options, "tests"],
        cwd=root,
        env=own | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow
def test_a_test_that_passes_alone_is_reported_last_with_its_failure(tmp_path: Path) -> None:
    repeats = tmp_path / "repeats"
    done = run(tmp_path, ONCE, "--again", REPEATS=str(repeats))
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.partition("== repeated tests ==\n")[2]
    assert last.startswith("tests/test_file.py::test_fails_once: failed (call) at load ")
    assert "1 workers" in last
    assert "passed alone" in last
    assert "the weather" in last
    assert "a line of the first run" in last
    assert last.endswith("docs/flaky.md: tests/test_file.py::test_fails_once\n")
    assert "new flaky test: add it to" in last
    assert "test_passes" not in last
    assert repeats.read_text().endswith(last)


@pytest.mark.slow
def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, TWICE, "--again")
    assert done.returncode == 1
    last = done.stdout.partition("== repeated tests ==\n")[2]
    assert "failed again" in last
    assert "flaky" not in last


@pytest.mark.slow
@pytest.mark.parametrize(("text", "options"), [(ONCE, ("--maxfail=1",)), (BROKEN, ("--again",))])
def test_a_run_is_not_repeated_unasked_or_when_it_could_not_start(
    tmp_path: Path, text: str, options: tuple[str, ...]
) -> None:
    done = run(tmp_path, text, *options)
    assert done.returncode != 0
    assert "repeated tests" not in done.stdout
    assert "once more" not in done.stdout


@pytest.mark.slow
def test_a_module_that_cannot_be_imported_fails_a_run_whose_other_failures_pass_alone(
    tmp_path: Path,
) -> None:
    done = run(tmp_path, ONCE, "--again", beside=BROKEN)
    assert done.returncode != 0
    assert "no_such_module" in done.stdout


def test_a_path_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tests/no_such_file.py::test_a"])
    assert "no tests at tests/no_such_file.py::test_a: name files" in capsys.readouterr().err


def test_a_listed_flaky_test_is_reported_with_its_cause() -> None:
    lines = list(report([FIRST], set(), 0, {"tests/a.py::test_b": "a race"}))
    assert lines[-1] == "flaky test of docs/flaky.md: tests/a.py::test_b[1]: a race"
    assert lines[1] == (
        "tests/a.py::test_b[1]: failed (call) at load 14.2, 4 workers, 2 cores; passed alone"
    )


def test_a_repetition_that_broke_off_makes_no_test_flaky() -> None:
    lines = list(report([FIRST], set(), 3, {}))
    assert "was not repeated: pytest ended with 3" in lines[1]
    assert not any("flaky" in line for line in lines)


def test_rows_of_the_page_are_tests_and_causes(tmp_path: Path) -> None:
    page = tmp_path / "flaky.md"
    page.write_text("| test | cause |\n|---|---|\n| `tests/a.py::test_b` | a race of two |\n")
    assert flaky(page) == {"tests/a.py::test_b": "a race of two"}


@pytest.mark.parametrize(
    ("nodeid", "name"),
    [
        ("tests/a.py::test_b@docker", "tests/a.py::test_b"),
        ("tests/a.py::test_b[x@y]@tests/a.py", "tests/a.py::test_b[x@y]"),
        ("tests/a.py::test_b[x@y]", "tests/a.py::test_b[x@y]"),
        ("tests/a@b.py", "tests/a@b.py"),
    ],
)
def test_the_group_is_no_part_of_a_tests_name(nodeid: str, name: str) -> None:
    assert name_of(nodeid) == name
