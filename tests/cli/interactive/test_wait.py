"""Waiting for an interactive task: the printed states, the end of the wait."""

from __future__ import annotations

import contextlib
import io
import sys
import time
import webbrowser

import pytest
from tests.cli import canned, canned_tasks
from tests.cli.canned_tasks import ID, READY, REASON, allocation
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.cli import main
from determined.cli.interactive import wait


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses opened in the browser."""
    found: list[str] = []

    def open_(address: str) -> bool:
        found.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_)
    return found


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between two polls."""
    monkeypatch.setattr(time, "sleep", lambda pause_s: None)


def test_each_change_of_state_is_printed_until_the_task_is_ready(
    det: Det, master: FakeMaster, opened: list[str], eager: None
) -> None:
    looks = [None, allocation("QUEUED"), allocation("PULLING"), allocation("STARTING")]
    looks += [allocation("RUNNING"), allocation("RUNNING"), READY]
    canned_tasks.serve(master, "notebook", *looks)
    outcome = det("notebook", "start")
    address = f"{master.url}/proxy/{ID}/?token=t0"
    assert outcome.out == (
        f"Launched notebook (id: {ID}, name: JupyterLab (oddly-calm-heron)).\n"
        f"Notebook is running at: {address}\n"
    )
    assert outcome.err.splitlines() == [
        f"Notebook {ID}: queued: 2 slots are needed, 1 is free",
        f"Notebook {ID}: pulling its image",
        f"Notebook {ID}: starting",
        f"Notebook {ID}: running, not ready yet",
    ]
    assert opened == [address]


def test_a_slow_start_shows_the_last_line_of_the_log(
    det: Det, master: FakeMaster, opened: list[str], eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wait, "_REASON_INTERVAL_S", 0.0)
    canned_tasks.serve(master, "tensorboard", allocation("WAITING"), allocation("WAITING"), READY)
    newest = canned.Stream([canned.log_line(9, "no files are there yet")])
    master.routes["GET", f"/api/v1/tasks/{ID}/logs"] = (200, newest)
    waits = f"TensorBoard {ID}: running, waiting for its data"
    said = det("tensorboard", "open", ID).err.splitlines()
    assert said == [waits, f"{waits}: no files are there yet"]


def test_the_no_browser_option_opens_no_browser(
    det: Det, master: FakeMaster, opened: list[str]
) -> None:
    canned_tasks.serve(master, "tensorboard")
    said = det("tensorboard", "start", "7", "--no-browser").out
    assert f"TensorBoard is running at: {master.url}/proxy/{ID}/" in said
    assert opened == []


@pytest.mark.parametrize("noun", ["notebook", "tensorboard"])
def test_open_waits_until_the_task_is_ready(
    det: Det, master: FakeMaster, opened: list[str], eager: None, noun: str
) -> None:
    canned_tasks.serve(master, noun, allocation("STARTING"), READY)
    assert det(noun, "open", ID[:6]).status == 0
    assert len(opened) == 1
    assert opened[0].startswith(f"{master.url}/proxy/{ID}/")


def test_a_missing_browser_is_reported(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned_tasks.serve(master, "notebook")
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    outcome = det("notebook", "open", ID)
    assert outcome.status == 0
    assert "open the address yourself" in outcome.err


def test_the_error_for_an_early_end_has_the_last_log_lines(
    det: Det, master: FakeMaster, eager: None
) -> None:
    ended = allocation("TERMINATED", exitReason=REASON, statusCode=1)
    canned_tasks.serve(master, "notebook", allocation("STARTING"), ended)
    outcome = det("notebook", "start", "--no-browser")
    assert outcome.status == 1
    assert f"Failed to start notebook: notebook {ID} ended: {REASON}" in outcome.err
    assert "INFO: first" in outcome.err
    (call,) = master.made("GET", f"/api/v1/tasks/{ID}/logs")
    assert call.query["orderBy"] == ["ORDER_BY_DESC"]


def test_waiting_for_readiness_has_a_limit(
    det: Det, master: FakeMaster, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned_tasks.serve(master, "shell", allocation("RUNNING"))
    monkeypatch.setattr(wait, "_READY_LIMIT_S", -1.0)
    outcome = det("shell", "open", ID)
    assert outcome.status == 1
    assert "is not ready" in outcome.err
    assert f"det shell logs {ID}" in outcome.err


def test_an_interrupt_leaves_the_task_running_and_prints_how_to_reconnect(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(pause_s: float) -> None:
        raise KeyboardInterrupt

    canned_tasks.serve(master, "notebook", allocation("QUEUED"))
    monkeypatch.setattr(time, "sleep", interrupt)
    outcome = det("notebook", "start")
    assert outcome.status == 130
    assert f"Reconnect: det notebook open {ID}." in outcome.err
    assert f"Stop: det notebook kill {ID}" in outcome.err
    assert master.made("POST", f"/api/v1/notebooks/{ID}/kill") == []


def test_a_terminal_shows_the_reason_of_the_wait(
    master: FakeMaster, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    canned_tasks.serve(master, "notebook", allocation("QUEUED"), allocation("QUEUED"), READY)
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(io.StringIO()):
        assert main.main(["notebook", "open", ID]) == 0
    assert "queued" in shown.getvalue()
