"""Runs of suites: their time, their result, and what they read that the table does not name."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from tools.suites.changes import tracked_files
from tools.suites.reads import are_access_times_kept, files_read, reset_access_times
from tools.suites.table import ROOT, Suite, Table, uncovered

RESULTS = ROOT / "build/suites"
_GRACE_S = 30.0


@dataclass(frozen=True)
class Result:
    """One run; `commit` is that of the checkout, with `+` where it had other changes."""

    suite: str
    commit: str
    status: int
    seconds: int
    day: str = ""
    """When it ended, as 2026-11-29 in UTC."""
    unnamed: Sequence[str] = ()
    """Files that were read and that the row does not name."""
    skipped: str = ""
    """Why this machine cannot run it, in its own words."""

    @property
    def is_passed(self) -> bool:
        """Reads that the row does not name are printed: `git status` reads all files, too."""
        return self.status == 0 and not self.skipped


def run_suite(table: Table, suite: Suite, environment: Mapping[str, str]) -> Result:
    """Run the command of a suite, and write its result below `build/suites`."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    files = tracked_files()
    is_checked = not suite.is_always_run and are_access_times_kept(RESULTS)
    if is_checked:
        reset_access_times(ROOT, files)
    commit = current_commit()
    skipped_file = RESULTS / f"{suite.name}.skipped"
    skipped_file.unlink(missing_ok=True)
    started = time.monotonic()
    status = _status(suite, {**environment, "SKIPPED_FILE": str(skipped_file)})
    seconds = round(time.monotonic() - started)
    skipped = skipped_file.read_text().strip() if skipped_file.exists() else ""
    read = files_read(ROOT, files) if is_checked else []
    unnamed = tuple(uncovered(table, suite, read))
    if current_commit() != commit:
        commit += "+"  # nobody can say which files it ran on
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    result = Result(suite.name, commit, status, seconds, day, unnamed, skipped)
    (RESULTS / f"{suite.name}.json").write_text(json.dumps(asdict(result)) + "\n")
    return result


def results() -> dict[str, Result]:
    """The last result of each suite in this checkout."""
    paths = sorted(RESULTS.glob("*.json"))
    return {path.stem: Result(**json.loads(path.read_text())) for path in paths}


def current_commit() -> str:
    """The commit of the checkout; with `+` at its end where files differ from it."""
    commit = _git("rev-parse", "HEAD")
    return f"{commit}+" if _git("status", "--porcelain") else commit


def describe_failure(result: Result, limit_minutes: float) -> str:
    """Why a run counts as failed, and what to do."""
    if result.status == 124:
        return f"{result.suite} was ended after its limit of {limit_minutes:g} minutes"
    return f"{result.suite} failed with status {result.status}"


def _status(suite: Suite, environment: Mapping[str, str]) -> int:
    """The exit status; 124 when the command was ended at its limit."""
    with subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", suite.command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return process.wait(suite.limit_minutes * 60)
        except subprocess.TimeoutExpired:
            _end_group(process)
            return 124
        except BaseException:
            _end_group(process)
            raise


def _end_group(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
