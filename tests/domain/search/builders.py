"""Searches and spaces for tests, with overrides for what matters to one."""

from typing import Any

from determined_master.domain.config.sections.hyperparameters import (
    Categorical,
    Const,
    Double,
    HyperparameterSpace,
    Int,
    LogScale,
    Nested,
)
from determined_master.domain.config.sections.searcher import (
    AdaptiveAsha,
    AsyncHalving,
    Grid,
    Random,
    SearcherConfig,
    Single,
)
from determined_master.domain.search.method import Create, SearchMethod, build

SPACE: HyperparameterSpace = {
    "lr": LogScale(minval=-4, maxval=-1, base=10, count=3),
    "layers": Int(minval=1, maxval=4, count=2),
    "dropout": Double(minval=0, maxval=0.5, count=2),
    "optimizer": Nested(children={"name": Categorical(vals=("sgd", "adam")), "eps": Const(1e-8)}),
    "batch": Const(64),
}


def single() -> Single:
    return Single(metric="loss")


def random(**overrides: Any) -> Random:
    return Random(**{"metric": "loss", "max_trials": 20, "max_concurrent_trials": 4} | overrides)


def grid(**overrides: Any) -> Grid:
    return Grid(**{"metric": "loss", "max_concurrent_trials": 4} | overrides)


def adaptive(**overrides: Any) -> AdaptiveAsha:
    fields = {
        "metric": "loss",
        "time_metric": "batches",
        "max_time": 64,
        "max_trials": 20,
        "max_concurrent_trials": 4,
    }
    return AdaptiveAsha(**fields | overrides)


def halving(**overrides: Any) -> AsyncHalving:
    fields = {
        "metric": "loss",
        "time_metric": "batches",
        "max_time": 64,
        "num_rungs": 3,
        "max_trials": 20,
        "max_concurrent_trials": 4,
    }
    return AsyncHalving(**fields | overrides)


CONFIGS: dict[str, SearcherConfig] = {
    "single": single(),
    "random": random(),
    "grid": grid(),
    "adaptive_asha": adaptive(),
    "adaptive_asha_conservative": adaptive(mode="conservative", divisor=3, max_time=100),
    "async_halving": halving(),
}

TOTALS = {
    "single": 1,
    "random": 20,
    "grid": 24,
    "adaptive_asha": 20,
    "adaptive_asha_conservative": 20,
    "async_halving": 20,
}
"""Valid trials of each search above, however its trials end."""


def method(name: str, seed: int = 42) -> SearchMethod:
    return build(CONFIGS[name], SPACE, seed)


def creates(actions: Any) -> list[Create]:
    return [action for action in actions if isinstance(action, Create)]
