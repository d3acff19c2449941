"""Counts the changes of the rules that the tests notice (mutation testing).

python tools/mutants.py [--sample N] [PACKAGE ...]

It runs in an environment with mutmut (`make mutants`) and prints one line a package; all packages
if none is named. Each package is copied to build/mutants/PACKAGE. There mutmut changes its
functions, one place at a time, and runs the tests of the package that are not marked slow. With
--sample it tries N of the changes, which a seed draws: thousands of changes take an hour.

mutmut leaves tables alone (a set or a mapping at the top of a module), so
`tools/table_mutants.py` leaves out one entry of a table at a time. Survivors stand in
build/mutants/PACKAGE/survivors.txt. Exit code 1: fewer than 85 % of a package were noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools.table_mutants import run_tables  # noqa: E402

FOLDER = ROOT / "build" / "mutants"
MASTER = "src/determined_master"
LEAST = 85.0
"""Per cent of the changes that must be noticed."""
NOTICED = {1, 3, 36, 24, -24, 152, 255}
"""Exit codes of mutmut's runs: failed tests, and tests that no longer ended."""
SEED = 1
MAX_CHILDREN = os.cpu_count() or 1


class Package(NamedTuple):
    """Part of the source, and the tests that must notice its changes."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    tables: tuple[str, ...] = ()
    """Modules whose tables are changed too."""
    table_tests: tuple[str, ...] = ()
    """The tests that must notice changes of tables, besides `tests`."""


PACKAGES = {
    "access": Package(
        (f"{MASTER}/domain/access/*",),
        ("tests/domain/access",),
        tuple(
            f"{MASTER}/domain/access/{name}.py"
            for name in ("needs", "permissions", "roles", "rules")
        ),
        ("tests/repo/test_permissions_page.py",),
    ),
    "addresses": Package(
        (f"{MASTER}/domain/addresses.py", f"{MASTER}/server/forwarded.py"),
        ("tests/domain/test_addresses.py", "tests/server/test_forwarded.py"),
    ),
    "limits": Package(
        (
            f"{MASTER}/domain/allowances.py",
            f"{MASTER}/domain/config/edits.py",
            f"{MASTER}/domain/config/sizes.py",
            f"{MASTER}/domain/config/sections/grid.py",
        ),
        ("tests/domain/test_allowances.py", "tests/domain/config"),
    ),
    "proxy": Package(
        (
            f"{MASTER}/api/http/cookies.py",
            f"{MASTER}/api/proxy/answer_heads.py",
            f"{MASTER}/api/proxy/heads.py",
        ),
        ("tests/api/http/test_cookies.py", "tests/api/proxy/test_heads.py"),
    ),
    "routes": Package(
        (f"{MASTER}/api/http/access.py",),
        ("tests/api/http/test_access.py",),
    ),
    "schedule": Package((f"{MASTER}/domain/schedule/*",), ("tests/domain/schedule",)),
    "search": Package((f"{MASTER}/domain/search/*",), ("tests/domain/search",)),
}


class Outcome(NamedTuple):
    noticed: int
    survivors: list[str]

    @property
    def percent(self) -> float:
        total = self.noticed + len(self.survivors)
        return 100.0 * self.noticed / total if total else 0.0


def run(name: str, sample: int | None) -> Outcome:
    """The changes of one package, or so many of those of its functions."""
    package = PACKAGES[name]
    scratch = FOLDER / name
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for part in ("src", "tests", "tools", "docs"):
        shutil.copytree(ROOT / part, scratch / part, ignore=shutil.ignore_patterns("__pycache__"))
    settings = (ROOT / "pyproject.toml").read_text() + _settings(package)
    (scratch / "pyproject.toml").write_text(settings)
    if sample is None:
        _mutmut(scratch)
    else:
        # A name that no change has: mutmut makes all changes and measures the tests, no more.
        _mutmut(scratch, "none", is_expected_to_fail=True)
        _mutmut(scratch, *_drawn(scratch, sample))
    noticed, survivors = 0, []
    for mutant, code in _codes(scratch).items():
        if code in NOTICED:
            noticed += 1
        elif code is not None:
            survivors.append(f"{mutant} ({code})")
    tests = (*package.table_tests, *package.tests)
    for change, was_noticed in run_tables(scratch, package.tables, tests):
        noticed += was_noticed
        survivors += [] if was_noticed else [change]
    (scratch / "survivors.txt").write_text("".join(f"{line}\n" for line in survivors))
    return Outcome(noticed, survivors)


def _mutmut(scratch: Path, *names: str, is_expected_to_fail: bool = False) -> None:
    command = [str(Path(sys.executable).parent / "mutmut"), "run"]
    with (scratch / "log").open("a") as log:
        done = subprocess.run(
            [*command, "--max-children", str(MAX_CHILDREN), *names],
            cwd=scratch,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode and not is_expected_to_fail:
        raise SystemExit(f"mutmut ended with {done.returncode}: see {scratch / 'log'}")


def _codes(scratch: Path) -> dict[str, int | None]:
    """The exit code of the tests for each change; None for one that was not tried."""
    found: dict[str, int | None] = {}
    for meta in sorted((scratch / "mutants").rglob("*.meta")):
        found |= json.loads(meta.read_text())["exit_code_by_key"]
    return found


def _drawn(scratch: Path, sample: int) -> list[str]:
    names = sorted(_codes(scratch))
    return Random(SEED).sample(names, min(sample, len(names)))


def _settings(package: Package) -> str:
    lines = [
        "",
        "[tool.mutmut]",
        'source_paths = ["src"]',
        f"only_mutate = {json.dumps(package.sources)}",
        f"pytest_add_cli_args_test_selection = {json.dumps(package.tests)}",
        'pytest_add_cli_args = ["-p", "no:cacheprovider", "-m", "not slow"]',
        'also_copy = ["tools", "docs"]',
        "use_git_change_detection = false",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Count the changes that the tests notice.")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.packages if name not in PACKAGES]
    if unknown:
        print(f"no package {unknown[0]!r}: one of {', '.join(PACKAGES)}", file=sys.stderr)
        return 2
    is_low = False
    for name in options.packages or PACKAGES:
        outcome = run(name, options.sample)
        is_low = is_low or outcome.percent < LEAST
        print(
            f"{name}: {outcome.percent:.1f} % noticed, {len(outcome.survivors)} of "
            f"{outcome.noticed + len(outcome.survivors)} survived",
            flush=True,
        )
    return 1 if is_low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
