"""The type checker refuses an event, an id or a cause that does not belong to an aggregate."""

from __future__ import annotations

from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]
HEAD = """
from determined_master.aggregates import ALLOCATION, TRIAL
from determined_master.domain.allocation.messages import BecameReady
from determined_master.domain.ids import AllocationId, ExperimentId, TrialId
from determined_master.domain.trial.messages import Trial, TrialKilled
from determined_master.engine import Engine, Posting
from determined_master.engine.causes import OnlyOnce

async def use(engine: Engine) -> None:
"""
RIGHT = """
    outcome = await engine.post(TRIAL, TrialId(7), TrialKilled(), cause=OnlyOnce("x"))
    state: Trial | None = outcome.state
    await engine.post(ALLOCATION, AllocationId("a"), BecameReady(), cause=OnlyOnce("x"))
    trial: Trial | None = await engine.read(TRIAL, TrialId(7))
"""
WRONG = """
    await engine.post(TRIAL, TrialId(7), BecameReady(), cause=OnlyOnce("x"))
    await engine.post(TRIAL, ExperimentId(7), TrialKilled(), cause=OnlyOnce("x"))
    await engine.post(TRIAL, 7, TrialKilled(), cause=OnlyOnce("x"))
    await engine.post(TRIAL, TrialId(7), TrialKilled(), cause="x")
    await engine.post("trial", TrialId(7), TrialKilled(), cause=OnlyOnce("x"))
    await engine.read(ALLOCATION, TrialId(7))
    Posting(TRIAL, TrialId(7), BecameReady(), OnlyOnce("x"))
"""


@pytest.mark.slow
def test_a_wrong_event_id_or_cause_is_a_type_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    checked = tmp_path / "checked.py"
    checked.write_text(HEAD + RIGHT + WRONG)
    output, _, _ = api.run(["--no-error-summary", "--no-pretty", str(checked)])
    named = {int(line.split(":")[1]) for line in output.splitlines() if ": error:" in line}
    first = (HEAD + RIGHT).count("\n") + 1
    assert named == set(range(first + 1, first + 8)), output
