"""Training plans from configurations; does not need PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from determined.pytorch._training.checkpoint_policy import (
    best_of,
    goal_of,
    searched_value,
    wants_checkpoint,
)
from determined.pytorch._training.plan import fit_arguments, length_of

NAN = float("nan")
LOWER = goal_of({"searcher": {"metric": "error"}})
HIGHER = goal_of({"searcher": {"metric": "accuracy", "smaller_is_better": False}})


def test_the_completed_configuration_gives_every_argument() -> None:
    config = {
        "searcher": {"metric": "x", "max_length": {"epochs": 4}},
        "min_validation_period": {"epochs": 1},
        "min_checkpoint_period": {"batches": 0},
        "scheduling_unit": 20,
        "checkpoint_policy": "all",
        "perform_initial_validation": True,
        "profiling": {"enabled": True},
    }
    assert {k: repr(v) for k, v in fit_arguments(config).items()} == {
        "max_length": "Epoch(4)",
        "validation_period": "Epoch(1)",
        "checkpoint_period": "None",
        "reporting_period": "Batch(20)",
        "checkpoint_policy": "'all'",
        "step_zero_validation": "True",
        "profiling_enabled": "True",
    }


@pytest.mark.parametrize(
    ("searcher", "length"),
    [
        ({"max_length": 50}, "Batch(50)"),
        ({"max_length": 5, "unit": "epochs"}, "Epoch(5)"),
        ({"max_time": 81, "time_metric": "epochs"}, "Epoch(81)"),
        ({"max_time": 900, "time_metric": "batches"}, "Batch(900)"),
        ({"max_time": 900, "time_metric": "seconds"}, "None"),
        ({}, "None"),
    ],
)
def test_the_search_may_say_how_long_to_train(searcher: dict[str, Any], length: str) -> None:
    assert repr(length_of({"searcher": searcher})) == length


def test_a_class_without_a_length_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"searcher\.max_length"):
        fit_arguments({"searcher": {"name": "single", "metric": "x"}})


def test_the_best_validation_is_saved_and_one_as_good() -> None:
    assert wants_checkpoint("best", LOWER, 1.0, (None, None))
    assert wants_checkpoint("best", LOWER, 1.0, (1.0, 1.0))
    assert not wants_checkpoint("best", LOWER, 1.0, (2.0, 0.5))
    assert wants_checkpoint("best", HIGHER, 0.9, (0.8, None))
    assert not wants_checkpoint("best", LOWER, NAN, (None, None))
    assert wants_checkpoint("all", LOWER, NAN, (0.1,))
    assert not wants_checkpoint("none", LOWER, 0.0, (None,))
    assert wants_checkpoint("best", goal_of(None), None, ())


def test_the_best_value_is_kept() -> None:
    assert best_of(LOWER, 1.0, None) == 1.0
    assert best_of(LOWER, 2.0, 1.0) == 1.0
    assert best_of(HIGHER, 2.0, 1.0) == 2.0
    assert best_of(LOWER, NAN, 1.0) == 1.0
    assert best_of(LOWER, NAN, None) is None


def test_a_metric_that_the_search_lacks_is_named_with_what_came() -> None:
    assert searched_value(LOWER, {"error": 3, "loss": 1}) == 3.0
    assert searched_value(goal_of({}), {"loss": 1}) is None
    with pytest.raises(ValueError, match="'error', but the validation returned accuracy, loss"):
        searched_value(LOWER, {"loss": 1, "accuracy": 0.5})
    with pytest.raises(ValueError, match="must be a number"):
        searched_value(LOWER, {"error": [1, 2]})
