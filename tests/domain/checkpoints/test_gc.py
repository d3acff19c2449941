"""Which checkpoints are kept: the reference's worked example, and what it leaves open."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from determined_master.domain.checkpoints.gc import (
    MAX_RUNS,
    Saved,
    SavePolicy,
    find_garbage,
    is_run_again,
)

NAN = math.nan
EXAMPLE = [
    Saved("1", 1, 1),
    Saved("2", 1, 2),
    Saved("3", 1, 3, 0.6),
    Saved("4", 1, 4, 0.5),
    Saved("5", 1, 5, 0.4),
    Saved("6", 2, 1),
    Saved("7", 2, 2, 0.2),
    Saved("8", 2, 3, 0.3),
    Saved("9", 2, 4),
    Saved("10", 2, 5),
]


def policy(experiment_best: int, trial_best: int, trial_latest: int) -> SavePolicy:
    return SavePolicy(
        experiment_best=experiment_best, trial_best=trial_best, trial_latest=trial_latest
    )


@pytest.mark.parametrize(
    ("saves", "kept"),
    [
        ((0, 0, 0), ""),
        ((2, 0, 0), "8 7"),
        ((5, 0, 0), "8 7 5 4 3"),
        ((9, 0, 0), "8 7 5 4 3"),
        ((0, 1, 0), "7 5"),
        ((0, 3, 0), "8 7 5 4 3"),
        ((0, 0, 1), "10 5"),
        ((0, 0, 3), "10 9 8 5 4 3"),
        ((2, 1, 0), "8 7 5"),
        ((2, 0, 1), "10 8 7 5"),
        ((0, 1, 1), "10 7 5"),
        ((2, 1, 1), "10 8 7 5"),
    ],
)
@covers("experiment-config 14.gc_example 14.gc_keep 14.gc_condition")
def test_the_worked_example_keeps_what_its_table_says(saves, kept) -> None:
    garbage = set(find_garbage(EXAMPLE, policy(*saves)))
    assert {c.uuid for c in EXAMPLE} - garbage == set(kept.split())


def test_nan_is_worse_than_every_other_metric() -> None:
    saved = [Saved("nan", 1, 1, NAN), Saved("worst", 1, 2, 1e9)]
    assert find_garbage(saved, policy(1, 0, 0)) == ["nan"]


@covers("experiment-config 14.gc_rank")
def test_of_equals_the_older_is_the_better_and_the_newer_the_later() -> None:
    saved = [Saved("old", 1, 5, 0.1), Saved("new", 1, 5, 0.1)]
    assert find_garbage(saved, policy(1, 0, 0)) == ["new"]
    assert find_garbage(saved, policy(0, 0, 1)) == ["old"]


@covers("experiment-config 14.gc_never")
def test_checkpoints_that_others_start_from_are_never_garbage() -> None:
    saved = [Saved("source", 1, 1, is_source=True), Saved("other", 1, 2)]
    assert find_garbage(saved, policy(0, 0, 0)) == ["other"]


def test_a_trial_cannot_take_the_places_of_another() -> None:
    saved = [Saved("a", 1, 9, 0.1), Saved("b", 1, 8, 0.2), Saved("c", 2, 1, 9.0)]
    assert find_garbage(saved, policy(0, 1, 0)) == ["b"]


checkpoints = st.lists(
    st.builds(
        Saved,
        uuid=st.uuids().map(str),
        trial_id=st.integers(1, 3),
        steps=st.integers(0, 5),
        metric=st.none() | st.floats(allow_nan=True),
    ),
    max_size=12,
)
counts = st.integers(0, 3)


@given(checkpoints, counts, counts, counts)
def test_keeping_more_never_makes_more_garbage(saved, best, trial_best, latest) -> None:
    garbage = set(find_garbage(saved, policy(best, trial_best, latest)))
    for more in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        raised = policy(best + more[0], trial_best + more[1], latest + more[2])
        assert set(find_garbage(saved, raised)) <= garbage
    kept = [c for c in saved if c.uuid not in garbage]
    trials = {c.trial_id for c in saved}
    assert len(kept) <= best + len(trials) * (trial_best + latest)


def test_only_a_task_that_lost_its_machine_runs_again_and_not_forever() -> None:
    assert is_run_again("lost", 1)
    assert is_run_again("lost", MAX_RUNS - 1)
    assert not is_run_again("lost", MAX_RUNS)
    for outcome in ("completed", "failed", "killed", "refused"):
        assert not is_run_again(outcome, 1)
