"""`det cmd run`: the program's output and exit status."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli import canned_tasks
from tests.cli.canned_tasks import ID, REASON, allocation
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.common.api._transport import Response


def ended(status: int | None) -> dict[str, Any]:
    return allocation("TERMINATED", exitReason=REASON, statusCode=status)


@pytest.mark.parametrize("status", [0, 3])
def test_run_prints_the_output_and_returns_the_exit_status(
    det: Det, master: FakeMaster, status: int
) -> None:
    canned_tasks.serve(master, "command", allocation("TERMINATING"), ended(status))
    outcome = det("cmd", "run", "false")
    assert outcome.status == status
    assert "INFO: first\n" in outcome.out
    assert outcome.out.count("INFO: ") == 2
    launched = f"Launched command (id: {ID}, name: Command (oddly-calm-heron)).\n"
    assert outcome.out.startswith(launched)
    (call,) = master.made("GET", f"/api/v1/tasks/{ID}/logs")
    assert call.query["follow"] == ["true"]


def test_a_program_without_an_exit_status_fails_the_command(det: Det, master: FakeMaster) -> None:
    canned_tasks.serve(master, "command", ended(None))
    outcome = det("cmd", "run", "false")
    assert outcome.status == 1
    assert f"Failed to run command: command {ID} ended: {REASON}" in outcome.err


def test_an_interrupt_leaves_the_program_running(
    det: Det, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(response: Response) -> Any:
        raise KeyboardInterrupt

    canned_tasks.serve(master, "command", allocation("RUNNING"))
    monkeypatch.setattr(Response, "iter_lines", interrupt)
    outcome = det("cmd", "run", "sleep", "1")
    assert outcome.status == 130
    assert f"Stop: det command kill {ID}" in outcome.err
    assert master.made("POST", f"/api/v1/commands/{ID}/kill") == []
