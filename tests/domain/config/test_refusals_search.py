"""Mistakes in searchers and spaces (experiment-config 4, 5, 8, 10)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.config.builders import ASHA, problems
from tests.domain.config.refusals import check_refusal, refusal

GRID = {"name": "grid", "metric": "loss"}
HALVING = {**ASHA, "name": "async_halving", "num_rungs": 3}


def one(kind: str, **fields: Any) -> dict[str, Any]:
    return {"x": {"type": kind, **fields}}


CASES = [
    refusal(
        "experiment-config 4.unknown_type 25.hp_type",
        {"hyperparameters": one("zip")},
        "hyperparameters.x: unknown hyperparameter",
    ),
    refusal(
        "experiment-config 4.const",
        {"hyperparameters": one("const")},
        "hyperparameters.x: val is a required property",
    ),
    refusal(
        "experiment-config 4.int",
        {"hyperparameters": one("int", minval=1)},
        "hyperparameters.x: maxval is a required property",
    ),
    refusal(
        "experiment-config 4.int",
        {"hyperparameters": one("int", minval=0.5, maxval=2)},
        "hyperparameters.x.minval: expected integer or null, but got number",
    ),
    refusal(
        "experiment-config 4.double 25.hp_range 1.compareProperties",
        {"hyperparameters": one("double", minval=2, maxval=2)},
        "hyperparameters.x: minval must be less than maxval",
    ),
    refusal(
        "experiment-config 4.log",
        {"hyperparameters": one("log", base=0, minval=0, maxval=1)},
        "hyperparameters.x.base: must be > 0 but found 0",
    ),
    refusal(
        "experiment-config 4.log",
        {"hyperparameters": one("log", base=1, minval=0, maxval=1)},
        "hyperparameters.x.base: must not be 1",
    ),
    refusal(
        "experiment-config 4.log",
        {"hyperparameters": one("log", base=10, minval=0, maxval=400)},
        "hyperparameters.x: minval and maxval are exponents",
    ),
    refusal(
        "experiment-config 4.categorical",
        {"hyperparameters": one("categorical", vals=[])},
        "hyperparameters.x.vals: must hold at least one value",
    ),
    refusal(
        "experiment-config 4.categorical",
        {"hyperparameters": one("categorical", vals="ab")},
        "hyperparameters.x.vals: expected array or null, but got string",
    ),
    refusal(
        "experiment-config 4.int",
        {"hyperparameters": one("int", minval=0, maxval=4, count=0)},
        "hyperparameters.x.count: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 4.other_keys",
        {"hyperparameters": one("int", minval=0, maxval=4, base=2)},
        'hyperparameters.x: additionalProperties "base" not allowed',
    ),
    refusal(
        "experiment-config 4.forms",
        {"hyperparameters": {"a": {"b": one("zip")}}},
        "hyperparameters.a.b.x: unknown",
    ),
    refusal(
        "experiment-config 4.const",
        {"hyperparameters": {"a": float("nan")}},
        "hyperparameters.a: must be a finite number but found nan",
    ),
    refusal(
        "experiment-config 4.const",
        {"hyperparameters": {"a": "x\0"}},
        "hyperparameters.a: must not contain a NUL",
    ),
    refusal(
        "experiment-config 2.searcher 1.7 1.eventuallyRequired 25.missing",
        {"searcher": None},
        ": searcher is a required property",
    ),
    refusal(
        "experiment-config 5.name 1.eventuallyRequired",
        {"searcher": {"metric": "x"}},
        "searcher: name is a required property",
    ),
    refusal(
        "experiment-config 5.metric",
        {"searcher": {"name": "single"}},
        "searcher: metric is a required property",
    ),
    refusal(
        "experiment-config 5.name 1.union",
        {"searcher": {"name": "zip", "metrik": "loss"}},
        'searcher: additionalProperties "metrik" not allowed; did you mean "metric"?',
    ),
    refusal(
        "experiment-config 5.name",
        {"searcher": {"name": "zip"}},
        "searcher: metric is a required property",
    ),
    refusal(
        "experiment-config 5.name 25.searcher_name 1.union",
        {"searcher": {"name": "zip", "metric": "x"}},
        "searcher.name: name must be one of single, random",
    ),
    refusal(
        "experiment-config 5.foreign_key",
        {"searcher": {"name": "single", "metric": "x", "max_trials": 2}},
        'searcher: additionalProperties "max_trials" not allowed',
    ),
    refusal(
        "experiment-config 5.max_trials",
        {"searcher": {"name": "random", "metric": "x"}},
        "searcher: max_trials is a required property",
    ),
    refusal(
        "experiment-config 5.divisor",
        {"searcher": {**ASHA, "divisor": 1}},
        "searcher.divisor: must be > 1 but found 1",
    ),
    refusal(
        "experiment-config 5.mode",
        {"searcher": {**ASHA, "mode": "x"}},
        "searcher.mode: value must be one of",
    ),
    refusal(
        "experiment-config 5.bracket_rungs",
        {"searcher": {**ASHA, "bracket_rungs": [2, 0]}},
        "searcher.bracket_rungs[1]: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 5.time_metric 5.max_time 25.time_metric 1.8",
        {"searcher": {"name": "adaptive_asha", "metric": "x", "max_trials": 2}},
        "searcher: searcher requires `max_time` and `time_metric`, missing: max_time, time_metric",
    ),
    refusal(
        "experiment-config 5.missing_time",
        {
            "searcher": {
                "name": "adaptive_asha",
                "metric": "x",
                "max_trials": 2,
                "max_length": {"epochs": 7},
            }
        },
        "searcher: searcher requires `max_time` and `time_metric`, missing: max_time, "
        "time_metric; write `time_metric: epochs` and `max_time: 7` in place of max_length",
    ),
    refusal(
        "experiment-config 5.missing_time",
        {
            "searcher": {
                "name": "adaptive_asha",
                "metric": "x",
                "max_trials": 2,
                "max_length": 0,
            }
        },
        "searcher: searcher requires `max_time` and `time_metric`, missing: max_time, "
        "time_metric; write `time_metric: batches` and `max_time: 100` in place of max_length",
    ),
    *[
        refusal(
            f"experiment-config 5.{name} 25.removed_searcher 1.8",
            {"searcher": {"name": name, "metric": "x"}},
            f'searcher.name: name "{name}" has been removed',
        )
        for name in ("sync_halving", "adaptive", "adaptive_simple", "custom", "pbt")
    ],
    refusal(
        "experiment-config 2.grid_count 25.grid_count 1.eventually",
        {"searcher": GRID, "hyperparameters": {"a": one("int", minval=0, maxval=4)}},
        "hyperparameters.a.x: grid search is in use but count was not provided",
    ),
    refusal(
        "experiment-config 10.experiment_seed 15.reproducibility",
        {"reproducibility": {"experiment_seed": -1}},
        "reproducibility.experiment_seed: must be >= 0",
    ),
    refusal(
        "experiment-config 10.experiment_seed",
        {"reproducibility": {"experiment_seed": 2**32}},
        "reproducibility.experiment_seed: must be <= 4294967295",
    ),
    refusal(
        "experiment-config 4.double",
        {"hyperparameters": one("double", maxval=1)},
        "hyperparameters.x: minval is a required property",
    ),
    refusal(
        "experiment-config 4.double",
        {"hyperparameters": one("double", count=3)},
        "hyperparameters.x: maxval is a required property",
    ),
    refusal(
        "experiment-config 4.int 25.hp_range",
        {"hyperparameters": one("int", minval=3, maxval=1)},
        "hyperparameters.x: minval must be less than maxval",
    ),
    refusal(
        "experiment-config 4.int",
        {"hyperparameters": one("int", count=3)},
        "hyperparameters.x: minval is a required property",
    ),
    refusal(
        "experiment-config 4.log",
        {"hyperparameters": one("log", minval=0, maxval=1)},
        "hyperparameters.x: base is a required property",
    ),
    refusal(
        "experiment-config 4.log 25.hp_range",
        {"hyperparameters": one("log", base=10, minval=1, maxval=1)},
        "hyperparameters.x: minval must be less than maxval",
    ),
    refusal(
        "experiment-config 4.log",
        {"hyperparameters": one("log", base=10, minval=0, maxval=1, count=0)},
        "hyperparameters.x.count: must be >= 1",
    ),
    refusal(
        "experiment-config 4.categorical",
        {"hyperparameters": one("categorical")},
        "hyperparameters.x: vals is a required property",
    ),
    refusal(
        "experiment-config 4.categorical 4.other_keys",
        {"hyperparameters": one("categorical", vals=[1], count=1)},
        'hyperparameters.x: additionalProperties "count" not allowed',
    ),
    refusal(
        "experiment-config 4.type_name",
        {"hyperparameters": {"g": {"type": {"a": 1}}}},
        "hyperparameters.g: unknown hyperparameter type",
    ),
    refusal(
        "experiment-config 4.type_name",
        {"hyperparameters": {"g": {"type": 5, "b": 1}}},
        "hyperparameters.g: unknown hyperparameter type",
    ),
    refusal(
        "experiment-config 5.smaller_is_better",
        {"searcher": {"name": "single", "metric": "x", "smaller_is_better": 3}},
        "searcher.smaller_is_better: expected boolean",
    ),
    refusal(
        "experiment-config 5.source_trial_id",
        {"searcher": {"name": "single", "metric": "x", "source_trial_id": "3"}},
        "searcher.source_trial_id: expected integer",
    ),
    refusal(
        "experiment-config 5.source_checkpoint_uuid 25.source",
        {"searcher": {"name": "single", "metric": "x", "source_checkpoint_uuid": "zip"}},
        "searcher.source_checkpoint_uuid: must be the UUID",
    ),
    refusal(
        "experiment-config 5.max_trials",
        {"searcher": {"name": "random", "metric": "x", "max_trials": 0}},
        "searcher.max_trials: must be >= 1",
    ),
    refusal(
        "experiment-config 5.max_trials",
        {"searcher": {k: v for k, v in ASHA.items() if k != "max_trials"}},
        "searcher: max_trials is a required property",
    ),
    refusal(
        "experiment-config 5.max_trials",
        {"searcher": {**HALVING, "max_trials": None}},
        "searcher: max_trials is a required property",
    ),
    refusal(
        "experiment-config 5.max_concurrent_trials",
        {"searcher": {**GRID, "max_concurrent_trials": -1}},
        "searcher.max_concurrent_trials: must be >= 0",
    ),
    refusal(
        "experiment-config 5.foreign_key",
        {"searcher": {"name": "single", "metric": "x", "max_concurrent_trials": 1}},
        'searcher: additionalProperties "max_concurrent_trials" not allowed',
    ),
    refusal(
        "experiment-config 5.foreign_key 5.mode",
        {"searcher": {**HALVING, "mode": "standard"}},
        'searcher: additionalProperties "mode" not allowed',
    ),
    refusal(
        "experiment-config 5.foreign_key 5.num_rungs",
        {"searcher": {**ASHA, "num_rungs": 3}},
        'searcher: additionalProperties "num_rungs" not allowed',
    ),
    refusal(
        "experiment-config 5.max_rungs",
        {"searcher": {**ASHA, "max_rungs": 0}},
        "searcher.max_rungs: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 5.bracket_rungs",
        {"searcher": {**ASHA, "bracket_rungs": 3}},
        "searcher.bracket_rungs: expected array",
    ),
    refusal(
        "experiment-config 5.num_rungs",
        {"searcher": {**HALVING, "num_rungs": None}},
        "searcher: num_rungs is a required property",
    ),
    refusal(
        "experiment-config 5.divisor",
        {"searcher": {**HALVING, "divisor": 0.5}},
        "searcher.divisor: must be > 1 but found 0.5",
    ),
    refusal(
        "experiment-config 5.max_length",
        {"searcher": {**HALVING, "max_length": 100}},
        "searcher.max_length: a length object must have one attribute",
    ),
    refusal(
        "experiment-config 5.max_length",
        {"searcher": {**HALVING, "max_length": {"epochs": 0}}},
        "searcher.max_length.epochs: must be >= 1 but found 0",
    ),
    refusal(
        "experiment-config 5.max_length 2.length",
        {"searcher": {"name": "single", "metric": "x", "max_length": -1}},
        "searcher.max_length: must be >= 0 but found -1",
    ),
    refusal(
        "experiment-config 5.stop_once",
        {"searcher": {**ASHA, "stop_once": 3}},
        "searcher.stop_once: expected boolean",
    ),
    refusal(
        "experiment-config 5.max_time",
        {"searcher": {**ASHA, "max_time": None}},
        "searcher: searcher requires `max_time` and `time_metric`, missing: max_time",
    ),
    refusal(
        "experiment-config 5.time_metric",
        {"searcher": {**HALVING, "time_metric": None}},
        "searcher: searcher requires `max_time` and `time_metric`, missing: time_metric",
    ),
    refusal(
        "experiment-config 2.grid_count 4.lists",
        {"searcher": GRID, "hyperparameters": {"a": [[one("double", minval=0, maxval=4)["x"]]]}},
        "hyperparameters.a[0][0]: grid search is in use but count was not provided",
    ),
    refusal(
        "experiment-config 2.grid_count",
        {
            "searcher": GRID,
            "hyperparameters": {"a": {"b": one("log", base=2, minval=0, maxval=4)}},
        },
        "hyperparameters.a.b.x: grid search is in use but count was not provided",
    ),
]


@pytest.mark.parametrize(("overrides", "start"), CASES)
def test_a_mistake_is_named_with_its_path_and_brings_no_others(
    overrides: dict[str, Any], start: str
) -> None:
    check_refusal(overrides, start)


def test_a_zero_length_is_one_mistake() -> None:
    found = problems(searcher={**HALVING, "max_time": None, "max_length": {"batches": 0}})
    about_length = [text for text in found if "max_length" in text.partition(":")[0]]
    assert about_length == ["searcher.max_length.batches: must be >= 1 but found 0"]
