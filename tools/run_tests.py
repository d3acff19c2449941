"""Runs tests, and with `--again` those that fail once more, alone.

The last lines say what was repeated: the first failure with the load at that time, and how the
repetition ended. A test that fails twice fails the run. One that passes alone depends on the
machine's load or on other tests. It is a defect: docs/flaky.md lists it with its cause until it is
mended. With the variable REPEATS, these lines are appended to that file, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = Path("docs/flaky.md")
MAX_REPEATED = 30
"""When more tests fail, the cause is no chance: none is repeated."""
TESTS_FAILED = 1
"""pytest's exit code; with any other, the run itself went wrong."""
_ROW = re.compile(r"^\| `(tests/[^`]+)` \| (.*?) \|$", re.MULTILINE)


class Failure(NamedTuple):
    """One failure of a test."""

    test: str
    when: str
    text: str
    load: float
    workers: int
    cores: int


def main(arguments: Sequence[str]) -> int:
    """Returns pytest's exit code: that of the repetition, where there is one."""
    parser = _parser()
    options, others = parser.parse_known_args(arguments)
    for path in options.paths:
        if not (
            ROOT / path.partition("::")[0]
        ).exists():  # with workers, pytest says nothing of it
            parser.error(f"no tests at {path}: name files or directories below {ROOT}")
    with tempfile.TemporaryDirectory(prefix="det-failures-") as directory:
        first, second = Path(directory, "first"), Path(directory, "second")
        status = _pytest(first, options.workers, [*_selection(options), *others])
        failures = _read(first)
        names = list(dict.fromkeys(f.test for f in failures))
        # A module that cannot be imported is no chance, and none of its tests has run.
        is_whole = all(f.when != "collect" for f in failures)
        if not options.again or status != TESTS_FAILED or not names or not is_whole:
            return status
        if len(names) > MAX_REPEATED:
            print(f"{len(names)} tests failed, more than {MAX_REPEATED}: none is repeated")
            return status
        print("once more, alone: what failed", flush=True)
        status = _pytest(second, 1, names)
        text = "\n".join(report(failures, {f.test for f in _read(second)}, status, flaky()))
    print(text, flush=True)
    if path := os.environ.get("REPEATS"):
        with Path(path).open("a") as file:
            file.write(text + "\n")
    return status


def report(
    failures: Sequence[Failure], failed_again: set[str], status: int, listed: dict[str, str]
) -> Iterator[str]:
    """Lines that say what was repeated.

    Args:
        failures: of the first run.
        failed_again: names of tests.
        status: pytest's exit code of the repetition.
        listed: tests of docs/flaky.md, and their causes.
    """
    yield "== repeated tests =="
    was_run = status in (0, TESTS_FAILED)
    passed = {f.test for f in failures} - failed_again if was_run else set()
    for failure in failures:
        end = "passed alone" if failure.test in passed else "failed again"
        if not was_run:
            end = f"was not repeated: pytest ended with {status}"
        yield (
            f"{failure.test}: failed ({failure.when}) at load {failure.load:.1f}, "
            f"{failure.workers} workers, {failure.cores} cores; {end}"
        )
        yield from (f"    {line}" for line in failure.text.splitlines())
    for test in sorted(passed):
        if (cause := listed.get(without_parameters(test))) is not None:
            yield f"flaky test of {PAGE}: {test}: {cause}"
        else:
            yield f"new flaky test: add it to {PAGE}: {test}"


def flaky(page: Path = ROOT / PAGE) -> dict[str, str]:
    """Tests that docs/flaky.md lists, and their causes."""
    return dict(_ROW.findall(page.read_text()))


def without_parameters(test: str) -> str:
    """The name of a test's function: all its parameters have one row."""
    return test.partition("[")[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="All other options are those of pytest, for the first run."
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--again", action="store_true", help="repeat what fails, alone")
    parser.add_argument("--durations", default="20", help="how many slow tests are listed")
    parser.add_argument("-m", dest="marks", default="", help="as pytest takes it")
    parser.add_argument("-k", dest="names", default="", help="as pytest takes it")
    parser.add_argument("--ignore", action="append", default=[], help="as pytest takes it")
    parser.add_argument("paths", nargs="+")
    return parser


def _selection(options: argparse.Namespace) -> list[str]:
    return [
        *("--durations", options.durations, "--durations-min=5"),
        *(("-m", options.marks) if options.marks else ()),
        *(("-k", options.names) if options.names else ()),
        *(f"--ignore={path}" for path in options.ignore),
        *options.paths,
    ]


def _pytest(failures: Path, workers: int, selection: Sequence[str]) -> int:
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-n", str(workers)),
        *("--dist", "loadgroup", "--no-loadscope-reorder", f"--rootdir={ROOT}"),
        *("-p", "tests.failures", f"--failures={failures}"),
        *selection,
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _read(path: Path) -> list[Failure]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [Failure(**json.loads(line)) for line in lines]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
