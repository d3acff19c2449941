"""A canned master, and `det` run in this process against it."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli import fake_master

from determined.cli import main


class Outcome(NamedTuple):
    """The output and the exit status of a command line."""

    status: int
    out: str
    err: str


Det = Callable[..., Outcome]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, and no environment variable of a real cluster."""
    for name in ("DET_MASTER", "DET_USER", "DET_PASS", "DET_USER_TOKEN", "_ARGCOMPLETE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "140")
    return tmp_path


@pytest.fixture
def master(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_master.FakeMaster]:
    """A master with one finished experiment; the caller's user comes from the environment."""
    started = fake_master.FakeMaster()
    monkeypatch.setenv("DET_MASTER", started.url)
    monkeypatch.setenv("DET_USER", "determined")
    monkeypatch.setenv("DET_PASS", "Secret123")
    yield started
    started.close()


@pytest.fixture
def det(home: Path, monkeypatch: pytest.MonkeyPatch) -> Det:
    """`det(*words, stdin="")` runs one command line."""

    def run(*words: str, stdin: str = "") -> Outcome:
        out, err = io.StringIO(newline=""), io.StringIO()
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main.main(words)
            except SystemExit as exit_:
                status = int(exit_.code or 0)
        return Outcome(status, out.getvalue(), err.getvalue())

    return run
