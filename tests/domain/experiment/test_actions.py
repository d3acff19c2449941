"""The catalogue of actions says what the machine of the experiment does."""

from __future__ import annotations

from typing import get_args

import pytest
from tests.domain.fake_search import context

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.experiment import messages as e
from determined_master.domain.experiment.actions import ACTIONS
from determined_master.domain.experiment.machine import step
from determined_master.domain.states import RunState

EVENTS = {
    "pause": e.ExperimentPaused(),
    "resume": e.ExperimentActivated(),
    "cancel": e.ExperimentCanceled(),
    "kill": e.ExperimentKilled(),
    "delete": e.DeletionRequested(),
}
STATES = [state for state in get_args(RunState) if state != "RUNNING"]  # of detached ones alone


def changes(state: e.Experiment, event: e.ExperimentEvent) -> bool:
    try:
        after, effects = step(state, event, context())
    except FailedPrecondition:
        return False
    return after != state or bool(effects)


@pytest.mark.parametrize("action", EVENTS)
@pytest.mark.parametrize("state", STATES)
def test_an_action_changes_eligible_experiments_alone(action, state: RunState) -> None:
    experiment = e.Experiment(id=7, state=state, trials_requested=2)
    assert changes(experiment, EVENTS[action]) == (state in ACTIONS[action].states)


def test_an_inverse_leads_back_and_what_has_none_is_asked() -> None:
    for name, action in ACTIONS.items():
        assert (action.inverse is None) == bool(action.warning), name
        if action.inverse is not None:
            back = ACTIONS[action.inverse]
            assert back.inverse == name
            assert back.access == action.access
