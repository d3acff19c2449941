"""Sentences of stories: in the form of `det ... story`, and in plain words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from determined_master.records.stories import StoryLine
from determined_master.services.experiments.story.story_texts import (
    level_of,
    plain_text,
    short_text,
    subject_of,
    user_of,
)

USER = "request:7:5d1c5b7e-0000-4000-8000-000000000000"


def line(kind: str, id: str, cause: str = "created", effects: Any = (), **event: Any) -> StoryLine:
    return StoryLine(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        kind=kind,
        id=id,
        version=1,
        cause=cause,
        event=event,
        effects=effects,
    )


ASSIGNED = line(
    "allocation",
    "7.x.2",
    effects=[
        {"effect": "start_container"},
        {"effect": "start_container"},
        {"effect": "set_timer"},
    ],
    event="assigned",
    containers=[{"container_id": "c", "agent_id": "a1", "slot_ids": [0, 1]}],
)
ENDED = line(
    "trial",
    "3",
    event="allocation_ended",
    allocation_id="7.x.2",
    outcome={"kind": "failed", "message": "exit code 1", "exit_code": 1},
)


@pytest.mark.parametrize(
    ("story", "text"),
    [
        (line("experiment", "4", USER, event="experiment_paused"), "experiment paused  by user 7"),
        (
            line("experiment", "4", event="experiment_created", experiment_id=4, activate=True),
            "experiment created",
        ),
        (
            line("experiment", "4", event="validation_reported", request_id="r", metric=2.0),
            "validation reported  trial=9 metric=2",
        ),
    ],
)
def test_the_short_form_has_the_details_that_users_know(story: StoryLine, text: str) -> None:
    trial_id = 9 if "trial=9" in text else 0
    assert short_text(story, trial_id) == f"experiment 4  {text}"


def test_the_short_form_names_runs_and_slots() -> None:
    assert short_text(ASSIGNED) == 'attempt 2  assigned  agent_id="a1" slot_ids=[0,1]'
    assert short_text(ENDED) == (
        'trial 3  allocation ended  exit_code=1 kind="failed" message="exit code 1"'
    )


def test_the_verbose_form_has_ids_causes_and_effects() -> None:
    assert short_text(ASSIGNED, is_verbose=True) == (
        'allocation 7.x.2  assigned  agent_id="a1" container_id="c" slot_ids=[0,1]'
        "  because of created  -> start container (2), set timer"
    )


@pytest.mark.parametrize(
    ("story", "text", "level"),
    [
        (ASSIGNED, "attempt 2 got slots on a1 (2 slots)", "info"),
        (ENDED, "trial 3 ended an attempt: failed, exit code 1", "error"),
        (
            line("trial", "3", event="trial_erred", reason="no_such_file: a_b.py"),
            "trial 3 failed: no_such_file: a_b.py",
            "error",
        ),
        (
            line("allocation", "7.x.2", event="agent_lost", agent_id="a1", container_ids=["c"]),
            "attempt 2 lost agent a1",
            "warning",
        ),
        (
            line("experiment", "4", event="trial_ended", request_id="r", end="errored"),
            "a trial ended: errored",
            "error",
        ),
        (
            line("allocation", "7.x.2", event="preempt_requested", reason="{x} it's needed"),
            "attempt 2 was asked to save its work and exit: {x} it's needed",
            "info",
        ),
        (
            line("interactive", "t1", event="effect_failed", effect="start_container", error="no"),
            "task t1 could not start container: no",
            "error",
        ),
        (line("trial", "3", event="of_the_future", n=1), "trial 3: of the future (n=1)", "info"),
    ],
)
def test_the_plain_form_is_a_sentence_with_a_level(
    story: StoryLine, text: str, level: str
) -> None:
    assert (plain_text(story), level_of(story)) == (text, level)
    assert subject_of(story).split()[0] in ("attempt", "trial", "experiment", "task")


def test_every_known_event_has_words() -> None:
    from determined_master.domain.allocation.messages import AllocationEvent
    from determined_master.domain.experiment.messages import ExperimentEvent
    from determined_master.domain.messages import by_tag
    from determined_master.domain.trial.messages import TrialEvent

    rare = {"collection_planned", "collection_ended", "collection_lost", "experiment_removed",
            "detached_trial_moved", "trial_detached", "detached_state_reported",
            "early_exit_expired", "daemon_marked"}  # fmt: skip
    known = {*by_tag(AllocationEvent), *by_tag(ExperimentEvent), *by_tag(TrialEvent)} - rare
    assert {t for t in known if ":" in plain_text(line("trial", "3", event=t))[:9]} == set()


def test_only_requests_have_a_user() -> None:
    assert (user_of(line("trial", "3", USER)), user_of(ENDED)) == ("7", "")
