"""Trials in states of their lives, and what is told to them."""

import msgspec
from tests.domain.builders import TASK, of_type

from determined_master.domain.allocation.messages import AllocationOutcome
from determined_master.domain.trial import messages as t
from determined_master.domain.trial.machine import step

CREATED = t.TrialCreated(
    trial_id=3,
    experiment_id=7,
    request_id="r",
    task_id=TASK,
    max_restarts=1,
    activate=True,
)


def run(*events, state=None):
    effects = []
    for event in events:
        state, effects = step(state, event)
    return state, effects


def active(**overrides) -> t.Trial:
    return msgspec.structs.replace(run(CREATED)[0], **overrides)


def ended(kind, run_id=1, message="why", cause=None) -> t.AllocationEnded:
    outcome = AllocationOutcome(kind=kind, message=message, cause=cause)
    return t.AllocationEnded(allocation_id=f"{TASK}.{run_id}", outcome=outcome)


def reports(effects) -> list[str]:
    return [e.end for e in of_type(effects, t.ReportTrialEnd)]


PAUSED = run(t.TrialPaused(), state=active())[0]
IDLE = run(ended("preempted"), state=PAUSED)[0]
