"""The aggregate of a trial: its kind and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from determined_master.aggregates.rows import ended_at, write_log_lines
from determined_master.domain.ids import TrialId
from determined_master.domain.messages import CancelTimer, SetTimer
from determined_master.domain.trial import machine as trial_machine
from determined_master.domain.trial import messages as trial
from determined_master.engine.kind import Change, Kind, tag_of
from determined_master.engine.turns import Owner
from determined_master.store.db import Conn
from determined_master.store.experiments import trials


async def project_trials(
    conn: Conn, changes: Sequence[Change[trial.Trial, trial.TrialEvent]]
) -> None:
    rows = [
        (
            c.after.id,
            c.after.state,
            c.after.reason,
            c.after.restarts,
            c.after.run_id,
            ended_at(c.after.state, c.after.silent_since or c.at),
        )
        for c in changes
    ]
    await trials.update_trial_states(conn, rows)
    await write_log_lines(conn, changes)


def _given_up(effect: trial.TrialOrder, error: str) -> trial.TrialEvent:
    """Reports the allocation that the effect was about."""
    allocation_id = ""
    match effect:
        case trial.RequestAllocation() | trial.PreemptAllocation() | trial.KillAllocation():
            allocation_id = effect.allocation_id
        case trial.ReportTrialEnd() | trial.ReportDetachedState() | SetTimer() | CancelTimer():
            pass
        case _:
            assert_never(effect)
    return trial.TrialEffectFailed(effect=tag_of(effect), error=error, allocation_id=allocation_id)


TRIAL: Kind[TrialId, trial.Trial, trial.TrialEvent, trial.TrialOrder] = Kind(
    name="trial",
    state=trial.Trial,
    event=trial.TrialEvent,
    effect=trial.TrialOrder,
    step=trial_machine.step,
    given_up=_given_up,
    project=project_trials,
    rows="trials",
    owner=lambda state: Owner.of(state.user_id, f"experiment {state.experiment_id}"),
)
