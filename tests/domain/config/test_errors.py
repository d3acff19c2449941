"""Every mistake is named with its path (experiment-config 2 to 16 and 25)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.config.builders import ASHA, LAYERS, build, problems

from determined_master.domain.config.experiment import ConfigErrors, ConfigLayers, build_experiment

GRID = {"name": "grid", "metric": "loss"}
SHARED = {"type": "shared_fs", "host_path": "/shared"}


def one(kind: str, **fields: Any) -> dict[str, Any]:
    return {"x": {"type": kind, **fields}}


CASES: list[tuple[str, dict[str, Any], str]] = [
    # section 2, top level
    ("2 version", {"version": 1}, "version: invalid version 1: only 0 is known"),
    ("2 unknown key", {"bogus": 1}, ': additionalProperties "bogus" not allowed'),
    (
        "2 unknown key, near a known one",
        {"hyperparameter": {}},
        ': additionalProperties "hyperparameter" not allowed; did you mean "hyperparameters"?',
    ),
    ("2 name", {"name": " "}, "name: must not be blank"),
    ("2 name type", {"name": 3}, "name: expected string or null, but got integer"),
    ("2 labels", {"labels": "a"}, "labels: expected array or null, but got string"),
    (
        "2 workspace without project",
        {"workspace": "w"},
        ": must provide both workspace and project, or neither; project is missing",
    ),
    ("2 max_restarts", {"max_restarts": -1}, "max_restarts: must be >= 0 but found -1"),
    (
        "2 max_restarts type",
        {"max_restarts": "5"},
        "max_restarts: expected integer or null, but got string",
    ),
    ("2 true is no number", {"max_restarts": True}, "max_restarts: expected integer or null, but"),
    ("2 checkpoint_policy", {"checkpoint_policy": "x"}, "checkpoint_policy: value must be one of"),
    ("2 scheduling_unit", {"scheduling_unit": 0}, "scheduling_unit: must be >= 1 but found 0"),
    ("2 debug", {"debug": "maybe"}, "debug: expected boolean or null, but got string"),
    ("2 internal", {"internal": {}}, "internal: expected null, but got object"),
    ("2 length", {"min_validation_period": {"zip": 1}}, "min_validation_period: a length object"),
    (
        "2 length with two keys",
        {"min_checkpoint_period": {"batches": 1, "epochs": 1}},
        "min_checkpoint_period: a length object must have one attribute of batches, records",
    ),
    (
        "2 length below zero",
        {"min_validation_period": {"batches": -1}},
        "min_validation_period.batches: must be >= 0 but found -1",
    ),
    (
        "2 tensorboard_storage counters",
        {"tensorboard_storage": {**SHARED, "save_trial_best": 1}},
        "tensorboard_storage.save_trial_best: is not allowed here",
    ),
    # section 3, entrypoint
    ("3 none", {"entrypoint": None}, "entrypoint: managed experiments require entrypoint"),
    ("3 type", {"entrypoint": 1}, "entrypoint: expected string, array or null, but got integer"),
    (
        "3 item",
        {"entrypoint": ["a", 1]},
        "entrypoint[1]: expected string or null, but got integer",
    ),
    # section 4, hyperparameters
    (
        "4 unknown type",
        {"hyperparameters": one("zip")},
        "hyperparameters.x: unknown hyperparameter",
    ),
    (
        "4 const",
        {"hyperparameters": one("const")},
        "hyperparameters.x: val is a required property",
    ),
    (
        "4 int lacks maxval",
        {"hyperparameters": one("int", minval=1)},
        "hyperparameters.x: maxval is a required property",
    ),
    (
        "4 int of a fraction",
        {"hyperparameters": one("int", minval=0.5, maxval=2)},
        "hyperparameters.x.minval: expected integer or null, but got number",
    ),
    (
        "4 empty range",
        {"hyperparameters": one("double", minval=2, maxval=2)},
        "hyperparameters.x: minval must be less than maxval",
    ),
    (
        "4 log base",
        {"hyperparameters": one("log", base=0, minval=0, maxval=1)},
        "hyperparameters.x.base: must be > 0 but found 0",
    ),
    (
        "4 log base of one",
        {"hyperparameters": one("log", base=1, minval=0, maxval=1)},
        "hyperparameters.x.base: must not be 1",
    ),
    (
        "4 log beyond floats",
        {"hyperparameters": one("log", base=10, minval=0, maxval=400)},
        "hyperparameters.x: minval and maxval are exponents",
    ),
    (
        "4 no choices",
        {"hyperparameters": one("categorical", vals=[])},
        "hyperparameters.x.vals: must hold at least one value",
    ),
    (
        "4 choices",
        {"hyperparameters": one("categorical", vals="ab")},
        "hyperparameters.x.vals: expected array or null, but got string",
    ),
    (
        "4 count",
        {"hyperparameters": one("int", minval=0, maxval=4, count=0)},
        "hyperparameters.x.count: must be >= 1 but found 0",
    ),
    (
        "4 strange key",
        {"hyperparameters": one("int", minval=0, maxval=4, base=2)},
        'hyperparameters.x: additionalProperties "base" not allowed',
    ),
    ("4 nested", {"hyperparameters": {"a": {"b": one("zip")}}}, "hyperparameters.a.b.x: unknown"),
    (
        "4 not finite",
        {"hyperparameters": {"a": float("nan")}},
        "hyperparameters.a: must be a finite number but found nan",
    ),
    ("4 NUL", {"hyperparameters": {"a": "x\0"}}, "hyperparameters.a: must not contain a NUL"),
    # section 5, searcher
    ("5 none", {"searcher": None}, ": searcher is a required property"),
    ("5 no name", {"searcher": {"metric": "x"}}, "searcher: name is a required property"),
    ("5 no metric", {"searcher": {"name": "single"}}, "searcher: metric is a required property"),
    (
        "5 name, and what else is wrong",
        {"searcher": {"name": "zip", "metrik": "loss"}},
        'searcher: additionalProperties "metrik" not allowed; did you mean "metric"?',
    ),
    (
        "5 name, and what else is missing",
        {"searcher": {"name": "zip"}},
        "searcher: metric is a required property",
    ),
    (
        "5 name",
        {"searcher": {"name": "zip", "metric": "x"}},
        "searcher.name: name must be one of single, random",
    ),
    (
        "5 key of another searcher",
        {"searcher": {"name": "single", "metric": "x", "max_trials": 2}},
        'searcher: additionalProperties "max_trials" not allowed',
    ),
    (
        "5 max_trials",
        {"searcher": {"name": "random", "metric": "x"}},
        "searcher: max_trials is a required property",
    ),
    (
        "5 divisor",
        {"searcher": {**ASHA, "divisor": 1}},
        "searcher.divisor: must be > 1 but found 1",
    ),
    ("5 mode", {"searcher": {**ASHA, "mode": "x"}}, "searcher.mode: value must be one of"),
    (
        "5 bracket_rungs",
        {"searcher": {**ASHA, "bracket_rungs": [2, 0]}},
        "searcher.bracket_rungs[1]: must be >= 1 but found 0",
    ),
    (
        "5 no time metric",
        {"searcher": {"name": "adaptive_asha", "metric": "x", "max_trials": 2}},
        "searcher: searcher requires `max_time` and `time_metric`, missing: max_time, time_metric",
    ),
    (
        "9 max_length alone",
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
    *[
        (
            f"5 end of life: {name}",
            {"searcher": {"name": name, "metric": "x"}},
            f'searcher.name: name "{name}" has been removed',
        )
        for name in ("sync_halving", "adaptive", "adaptive_simple", "custom")
    ],
    # section 8, grid
    (
        "8 no count",
        {"searcher": GRID, "hyperparameters": {"a": one("int", minval=0, maxval=4)}},
        "hyperparameters.a.x: grid search is in use but count was not provided",
    ),
    # section 10, reproducibility
    (
        "10 seed",
        {"reproducibility": {"experiment_seed": -1}},
        "reproducibility.experiment_seed: must be >= 0",
    ),
    (
        "10 seed beyond 32 bits",
        {"reproducibility": {"experiment_seed": 2**32}},
        "reproducibility.experiment_seed: must be <= 4294967295",
    ),
    # section 11, resources
    (
        "11 slots",
        {"resources": {"slots": 1}},
        'resources: additionalProperties "slots" not allowed',
    ),
    (
        "11 negative",
        {"resources": {"slots_per_trial": -1}},
        "resources.slots_per_trial: must be >=",
    ),
    (
        "11 priority",
        {"resources": {"priority": 0}},
        "resources.priority: must be >= 1 but found 0",
    ),
    (
        "11 priority",
        {"resources": {"priority": 500}},
        "resources.priority: must be <= 99 but found",
    ),
    (
        "11 shm",
        {"resources": {"shm_size": "4x"}},
        "resources.shm_size: must be a valid memory size",
    ),
    (
        "11 a trial above the limit",
        {"resources": {"slots_per_trial": 4, "max_slots": 2}},
        "resources: slots_per_trial (4) is more than max_slots (2)",
    ),
    (
        "11 unknown pool",
        {"resources": {"resource_pool": "x"}},
        "resources.resource_pool: resource pool x does not exist or is not available",
    ),
    # section 12, environment
    (
        "12 image",
        {"environment": {"image": 1}},
        "environment.image: is neither a string nor a map",
    ),
    (
        "12 image of what",
        {"environment": {"image": {"tpu": "x"}}},
        'environment.image: additionalProperties "tpu" not allowed',
    ),
    (
        "12 variables",
        {"environment": {"environment_variables": "A=1"}},
        "environment.environment_variables: is neither a list",
    ),
    (
        "12 mixed variables",
        {"environment": {"environment_variables": ["A=1", {"cpu": []}]}},
        "environment.environment_variables: is not a list of strings",
    ),
    (
        "12 proxy port",
        {"environment": {"proxy_ports": [{"proxy_tcp": True}]}},
        "environment.proxy_ports[0]: proxy_port is a required property",
    ),
    (
        "12 pod_spec",
        {
            "environment": {
                "pod_spec": {
                    "spec": {"containers": [{"name": "determined-container", "image": "x"}]}
                }
            }
        },
        "environment.pod_spec.spec.containers[0].image: is not configurable",
    ),
    # section 13, mounts and devices
    (
        "13 host_path",
        {"bind_mounts": [{"host_path": "a", "container_path": "b"}]},
        'bind_mounts[0].host_path: must be an absolute path but found "a"',
    ),
    (
        "13 work directory",
        {"bind_mounts": [{"host_path": "/a", "container_path": "."}]},
        'bind_mounts[0].container_path: must not be "."',
    ),
    ("13 null item", {"bind_mounts": [None]}, "bind_mounts[0]: expected object, but got null"),
    ("13 device", {"resources": {"devices": ["/a"]}}, "resources.devices[0]: is neither a device"),
    # section 14, checkpoint storage
    (
        "14 type",
        {"checkpoint_storage": {"type": "x"}},
        "checkpoint_storage.type: type must be one",
    ),
    ("14 hdfs", {"checkpoint_storage": {"type": "hdfs"}}, "checkpoint_storage.type: type"),
    (
        "14 storage_path climbs out",
        {"checkpoint_storage": {**SHARED, "storage_path": "a/../../b"}},
        "checkpoint_storage.storage_path: must be relative or a directory below host_path",
    ),
    (
        "14 storage_path elsewhere",
        {"checkpoint_storage": {**SHARED, "storage_path": "/sharedx"}},
        "checkpoint_storage.storage_path: must be relative or a directory below host_path",
    ),
    (
        "14 prefix",
        {"checkpoint_storage": {"type": "gcs", "bucket": "b", "prefix": "a/.."}},
        "checkpoint_storage.prefix: must not contain parent directories",
    ),
    ("14 s3", {"checkpoint_storage": {"type": "s3"}}, "checkpoint_storage: bucket is a required"),
    (
        "14 azure without credentials",
        {"checkpoint_storage": {"type": "azure", "container": "c"}},
        "checkpoint_storage: exactly one of connection_string and account_url must be set",
    ),
    (
        "14 azure with both",
        {
            "checkpoint_storage": {
                "type": "azure",
                "container": "c",
                "connection_string": "x",
                "credential": "y",
            }
        },
        "checkpoint_storage: credential and connection_string must not both be set",
    ),
    (
        "14 counters",
        {"checkpoint_storage": {"save_trial_best": -1}},
        "checkpoint_storage.save_trial_best: must be >= 0",
    ),
    # section 15
    (
        "15 profiling",
        {"profiling": {"begin_on_batch": 5, "end_after_batch": 1}},
        "profiling: begin_on_batch must be less than end_after_batch",
    ),
    (
        "15 precision",
        {"optimizations": {"mixed_precision": "O9"}},
        "optimizations.mixed_precision:",
    ),
    ("15 sbatch", {"slurm": {"sbatch_args": ["-N2"]}}, "slurm.sbatch_args[0]: option -N2 is not"),
    (
        "15 gres",
        {"slurm": {"sbatch_args": ["--gres=gpu:1"]}},
        "slurm.sbatch_args[0]: option --gres",
    ),
    ("15 qsub", {"pbs": {"pbsbatch_args": ["-V"]}}, "pbs.pbsbatch_args[0]: option -V is not"),
    # section 16
    (
        "16 unnamed",
        {"log_policies": [{"pattern": "x"}]},
        "log_policies[0]: a log policy needs a name, or a pattern and an action",
    ),
    (
        "16 names twice",
        {"log_policies": [{"name": "a", "pattern": "x"}, {"name": "a"}]},
        "log_policies: names must be unique but found twice: a",
    ),
    (
        "16 expression",
        {"log_policies": [{"name": "a", "pattern": "("}]},
        'log_policies[0].pattern: "(" is not a regular expression',
    ),
    (
        "16 action",
        {"log_policies": [{"name": "a", "action": "x"}]},
        "log_policies[0].action: value",
    ),
    (
        "16 retention",
        {"retention_policy": {"log_retention_days": -2}},
        "retention_policy.log_retention_days: must be >= -1",
    ),
    (
        "16 retention without days",
        {"retention_policy": {}},
        "retention_policy: log_retention_days is a required property",
    ),
    (
        "16 pachyderm",
        {"integrations": {"pachyderm": {}}},
        "integrations.pachyderm: dataset is a required property",
    ),
]


@pytest.mark.parametrize(("overrides", "start"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_mistake_is_named_with_its_path(overrides: dict[str, Any], start: str) -> None:
    found = problems(**overrides)
    assert [p for p in found if p.startswith(start)], found


@pytest.mark.parametrize(("overrides", "start"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_mistake_brings_no_others_with_it(overrides: dict[str, Any], start: str) -> None:
    found = problems(**overrides)
    section = start.partition(":")[0].partition(".")[0]
    assert {p.partition(":")[0].partition(".")[0] for p in found} == {section}


def test_all_mistakes_are_told_at_once_sorted_by_path() -> None:
    with pytest.raises(ConfigErrors) as caught:
        build(resources={"slots_per_trial": -1, "priority": 500}, checkpoint_policy="zip", bogus=1)
    head, *lines = str(caught.value).split("\n")
    prefix = "invalid experiment configuration: version 0 experiment config is invalid: "
    assert head == prefix + 'config is invalid: <config>: additionalProperties "bogus" not allowed'
    assert [line.split(":")[0] for line in lines] == [
        "<config>.checkpoint_policy",
        "<config>.resources.priority",
        "<config>.resources.slots_per_trial",
    ]


def test_what_is_only_missing_is_told_as_incomplete() -> None:
    with pytest.raises(ConfigErrors, match="config is invalid or incomplete: <config>: searcher"):
        build(searcher=None)


@pytest.mark.parametrize(("value", "name"), [(None, "null"), ([], "array"), ("x", "string")])
def test_a_configuration_that_is_no_object_is_named_as_such(value: Any, name: str) -> None:
    with pytest.raises(ConfigErrors, match=f"<config>: expected object, but got {name}"):
        build_experiment(value, layers=LAYERS, seed=1, name="x")


def test_without_any_checkpoint_storage_the_configuration_is_incomplete() -> None:
    found = problems(ConfigLayers())
    assert found == [": checkpoint_storage is a required property"]


def test_a_grid_of_a_million_points_is_allowed_and_one_of_10_to_the_12_names_its_size() -> None:
    axes = {n: {"type": "double", "minval": 0, "maxval": 1, "count": 10**3} for n in "abcd"}
    million = dict(list(axes.items())[:2])
    assert problems(searcher=GRID, hyperparameters=million) == []
    [found] = problems(searcher=GRID, hyperparameters=axes)
    assert "the grid has 1,000,000,000,000 points" in found


def test_a_detached_experiment_needs_no_entrypoint() -> None:
    submitted = {"searcher": {"name": "single", "metric": "loss"}}
    built = build_experiment(submitted, layers=LAYERS, seed=1, name="x", is_managed=False)
    assert built.config["entrypoint"] is None
