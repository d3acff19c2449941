"""Configurations that are valid, but likely not meant like this: warnings before a start."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.config.builders import build


def log(low: float, high: float, base: float = 10) -> dict[str, Any]:
    return {"lr": {"type": "log", "minval": low, "maxval": high, "base": base}}


def test_exponents_that_look_like_values_are_named_with_the_right_ones() -> None:
    [warning] = build(hyperparameters=log(0.0001, 0.1)).warnings
    assert warning == (
        "<config>.hyperparameters.lr: minval and maxval are exponents: the values lie between 1 "
        "and 1.259; for values from 0.0001 to 0.1 write -4 and -1"
    )
    [warning] = build(hyperparameters={"net": log(0.01, 1, base=2)}).warnings
    assert warning.startswith("<config>.hyperparameters.net.lr: ")
    assert warning.endswith("for values from 0.01 to 1 write -6.644 and 0")


@pytest.mark.parametrize(
    ("low", "high"), [(-4, -1), (-4, 0.5), (0, 1), (0.5, 1), (0.1, 2), (1, 3), (-1, 1)]
)
def test_exponents_have_no_warning(low: float, high: float) -> None:
    assert build(hyperparameters=log(low, high)).warnings == ()


def search(hyperparameters: dict[str, Any], **searcher: Any) -> tuple[str, ...]:
    whole = {
        "name": "adaptive_asha",
        "metric": "loss",
        "max_trials": 16,
        "time_metric": "epochs",
        "max_time": 100,
        **searcher,
    }
    return build(hyperparameters=hyperparameters, searcher=whole).warnings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 10),
        ("num_epochs", {"type": "int", "minval": 1, "maxval": 10}),
        ("max_epochs", {"type": "categorical", "vals": [5, 10]}),
    ],
)
def test_a_length_that_no_trial_reaches_is_named(name: str, value: Any) -> None:
    [warning] = search({name: value})
    assert warning == (
        f"<config>.searcher.max_time: likely no trial reaches 100 epochs: the hyperparameter "
        f"{name} is at most 10; write max_time: 10, or let trials train longer"
    )


@pytest.mark.parametrize(
    "hyperparameters",
    [
        {},
        {"epochs": 100},
        {"epochs": "ten"},
        {"epochs": True},
        {"epochs": {"type": "categorical", "vals": ["few", 10]}},
        {"epochs": {"type": "categorical", "vals": [10, 200]}},
        {"epochs": {"nested": 10}},
        {"batches": 10},
    ],
)
def test_other_hyperparameters_have_no_warning(hyperparameters: dict[str, Any]) -> None:
    assert search(hyperparameters) == ()


def test_a_search_without_rungs_has_no_length_to_reach() -> None:
    searcher = {"name": "random", "metric": "loss", "max_trials": 2}
    assert build(hyperparameters={"epochs": 10}, searcher=searcher).warnings == ()


def test_the_same_warnings_come_for_the_stored_configuration() -> None:
    built = build(hyperparameters=log(0.0001, 0.1))
    assert build(**built.config).warnings == built.warnings
