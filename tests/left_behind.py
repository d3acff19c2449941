"""Fails a run of tests that leaves the machine otherwise than it was.

A run of several workers is compared, and each run with `CI=true`. With it, all differences count:
the machine has no other use. Files outside of the checkout are the exception, because system
programs write some at their first use. Without it, only what certainly is of the run counts. The
rest is printed. A process may need a moment to end. When tests have failed, what they left behind
is printed and changes nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.machine_state import MARK, Difference, MachineState, differences, snapshot

CHECKOUT = Path(__file__).parents[1]
PATIENCE_S = 30.0
_MOST = 20
"""Differences that are printed of those that do not count."""


def pytest_configure(config: pytest.Config) -> None:
    """Watch, unless a worker's controller does, or an outer run of tests."""
    is_strict = os.environ.get("CI") in ("1", "true")
    has_workers = bool(getattr(config.option, "numprocesses", None))
    if (
        MARK not in os.environ
        and not hasattr(config, "workerinput")
        and (is_strict or has_workers)
    ):
        os.environ[MARK] = str(os.getpid())
        config.pluginmanager.register(LeftBehind(is_strict), "left-behind")


class LeftBehind:
    """Takes both snapshots of one run."""

    def __init__(
        self, is_strict: bool, patience_s: float = PATIENCE_S, run: int | None = None
    ) -> None:
        """`run`: the process whose descendants are of the run; this one by default."""
        self._is_strict = is_strict
        self._run = run or os.getpid()
        self._patience_s = patience_s
        self._before = self._now()
        self._differences: list[Difference] = []

    def _now(self) -> MachineState:
        return snapshot(CHECKOUT, os.environ[MARK])

    @pytest.hookimpl(trylast=True)  # the workers have ended
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        give_up_at = time.monotonic() + self._patience_s
        self._differences = differences(self._before, self._now(), self._run)
        while any(d.kind == "process" for d in self._counted()) and time.monotonic() < give_up_at:
            time.sleep(0.2)
            self._differences = differences(self._before, self._now(), self._run)
        if self._counted() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in report(self._differences, self._counted()):
            terminalreporter.write_line(line)

    def _counted(self) -> list[Difference]:
        return [
            d
            for d in self._differences
            if d.is_of_the_run or (self._is_strict and d.kind != "file")
        ]


def report(changes: Sequence[Difference], counted: Sequence[Difference]) -> list[str]:
    """Lines about a run's differences, the counted ones first."""
    lines = [f"the run has left behind: {change}" for change in counted]
    others = [change for change in changes if change not in counted]
    lines += [f"changed meanwhile, perhaps by others: {change}" for change in others[:_MOST]]
    if len(others) > _MOST:
        lines.append(f"changed meanwhile, perhaps by others: {len(others) - _MOST} more")
    return lines
