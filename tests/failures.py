"""Writes down which tests fail, for a program that runs them again (`tools/run_tests.py`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures", type=Path, help="append a JSON line for each failure to a file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("failures")
    if path is not None and not hasattr(config, "workerinput"):
        workers = getattr(config.option, "numprocesses", None) or 1
        config.pluginmanager.register(Failures(path, workers), "failures-file")


class Failures:
    """Appends a line for each failure of a test, with the machine's load at that time."""

    def __init__(self, path: Path, workers: int) -> None:
        self._path = path
        self._workers = workers

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._append(report, report.when)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be imported."""
        if report.failed:
            self._append(report, "collect")

    def _append(self, report: pytest.TestReport | pytest.CollectReport, when: str) -> None:
        sections = "\n".join(f"--- {name} ---\n{text}" for name, text in report.sections)
        line: dict[str, Any] = {
            "test": name_of(report.nodeid),
            "when": when,
            "text": f"{report.longreprtext}\n{sections}".rstrip(),
            "load": os.getloadavg()[0],
            "workers": self._workers,
            "cores": os.cpu_count(),
        }
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def name_of(nodeid: str) -> str:
    """The id of a test as pytest takes it, without the group that xdist appends.

    A parameter may have an `@`; the group comes last and has no bracket.
    """
    head, at, group = nodeid.rpartition("@")
    return head if at and "::" in head and "]" not in group else nodeid
