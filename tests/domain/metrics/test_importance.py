"""Importance of hyperparameters: what matters most comes first, and the answer is repeatable."""

from __future__ import annotations

import math
import time
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from determined_master.domain.metrics.importance import (
    MAX_PARAMETERS,
    MAX_RUNS,
    Importance,
    count_parameters,
    importances,
)


def search(
    random: Random, runs: int, strong: str, noise: float = 0.1
) -> tuple[list[dict[str, Any]], list[float]]:
    """Runs whose metric depends on one hyperparameter, of any kind, and a little on noise."""
    hparams, metrics = [], []
    for _ in range(runs):
        one: dict[str, Any] = {
            "lr": 10 ** random.uniform(-5, 0),
            "width": random.randrange(8, 513),
            "act": random.choice(["relu", "gelu", "tanh"]),
            "net": {"depth": random.randrange(1, 9), "bias": random.random() < 0.5},
            "fixed": 7,
        }
        effect = {
            "lr": (math.log10(one["lr"]) + 2.5) ** 2,
            "width": one["width"] / 100,
            "act": {"relu": 0.0, "gelu": 3.0, "tanh": 1.0}[one["act"]],
            "net.depth": float(one["net"]["depth"]),
        }[strong]
        hparams.append(one)
        metrics.append(effect + random.gauss(0, noise))
    return hparams, metrics


def found(
    hparams: list[dict[str, Any]], metrics: list[float], *, smaller: bool = True, seed: int = 0
) -> list[Importance]:
    return importances(hparams, metrics, smaller_is_better=smaller, random=Random(seed))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    runs=st.integers(60, 200),
    strong=st.sampled_from(["lr", "width", "act", "net.depth"]),
)
def test_a_planted_strong_hyperparameter_ranks_first(seed: int, runs: int, strong: str) -> None:
    ranked = found(*search(Random(seed), runs, strong), seed=seed)
    assert ranked[0].name == strong
    assert ranked[0].importance > 2 * ranked[1].importance
    assert sum(one.importance for one in ranked) == pytest.approx(1, abs=1e-4)


def test_the_same_seed_gives_the_same_answer() -> None:
    hparams, metrics = search(Random(1), 80, "lr")
    assert found(hparams, metrics, seed=5) == found(hparams, metrics, seed=5)


def test_the_scale_of_the_metric_does_not_matter() -> None:
    hparams, metrics = search(Random(1), 80, "width")
    assert found(hparams, [math.exp(m) for m in metrics]) == found(hparams, metrics)


def test_kinds_and_correlations_are_those_of_the_values() -> None:
    ranked = {one.name: one for one in found(*search(Random(2), 100, "width"))}
    assert {name: one.kind for name, one in ranked.items()} == {
        "lr": "log",
        "width": "number",
        "act": "category",
        "net.depth": "number",
        "net.bias": "category",
        "fixed": "constant",
    }
    assert ranked["width"].correlation == pytest.approx(-1, abs=0.05)  # smaller metrics are better
    assert (ranked["act"].correlation, ranked["fixed"].correlation) == (None, None)
    assert (ranked["fixed"].importance, ranked["act"].values) == (0.0, 3)
    up = {one.name: one for one in found(*search(Random(2), 100, "width"), smaller=False)}
    assert up["width"].correlation == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    "hparams",
    [
        [],
        [{}] * 10,
        [{"a": 1}] * 10,
        [{"a": n} for n in range(3)],
        [{"a": 10**400 * n, "b": [n, {"c": None}], "d": "x" * n} for n in range(50)],
        [{"a": n} if n % 2 else {"b": float("inf")} for n in range(50)],
    ],
)
def test_any_values_have_an_answer(hparams: list[dict[str, Any]]) -> None:
    ranked = found(hparams, [float(n % 5) for n in range(len(hparams))])
    assert all(0 <= one.importance <= 1 for one in ranked)


def test_runs_with_equal_metrics_have_no_important_hyperparameter() -> None:
    ranked = found(search(Random(3), 50, "lr")[0], [1.0] * 50)
    assert {one.importance for one in ranked} == {0.0}


def test_more_hyperparameters_than_the_bound_lose_their_constants_first() -> None:
    hparams = [
        {**{f"c{i}": 0 for i in range(30)}, **{f"z{i}": n * i % 31 for i in range(1, 31)}}
        for n in range(40)
    ]
    ranked = found(hparams, [float(n) for n in range(40)])
    assert (len(ranked), count_parameters(hparams)) == (MAX_PARAMETERS, 60)
    assert sum(one.name.startswith("z") for one in ranked) == 30


@pytest.mark.slow
def test_the_largest_search_takes_bounded_work() -> None:
    random = Random(4)
    hparams = [{f"p{i}": random.random() for i in range(40)} for _ in range(MAX_RUNS)]
    metrics = [one["p7"] + random.gauss(0, 0.1) for one in hparams]
    started = time.process_time()
    assert found(hparams, metrics)[0].name == "p7"
    assert time.process_time() - started < 8  # 2 s on the machine of the figures
