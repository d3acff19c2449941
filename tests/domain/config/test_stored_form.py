"""The form in which configurations are stored and shown, against observed samples.

Source: wire.md 10, samples `experiment.config.*` and `experiments.bad.*` of wire.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.config.builders import LAYERS, build

from determined_master.domain.config.experiment import (
    ConfigErrors,
    ExperimentConfig,
    build_experiment,
)
from determined_master.settings.yaml_text import parse_yaml

WIRE = Path(__file__).parents[2] / "data" / "wire.json"
SAMPLES = {s["id"]: s for s in json.loads(WIRE.read_text()) if "id" in s}
STORED = [i for i in SAMPLES if i.startswith("experiment.config.")]
SEEN_AFTER_EDITS = {"experiment.config.single": {"name", "labels"}}
"""Keys that had been changed through the API before the sample was taken."""
YAML_1_1_KEYS = {("data", "false"), ("data", "n")}
"""The sample's key `n` was read as a boolean; ours stays `n`."""


def differences(seen: Any, ours: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(seen, dict) and isinstance(ours, dict):
        found = []
        for key in sorted(seen.keys() | ours.keys()):
            if (key in seen) != (key in ours):
                found.append((*path, key))
            elif key in seen:
                found += differences(seen[key], ours[key], (*path, key))
        return found
    if isinstance(seen, list) and isinstance(ours, list) and len(seen) == len(ours):
        return [d for i, s in enumerate(seen) for d in differences(s, ours[i], (*path, str(i)))]
    is_placeholder = isinstance(seen, str) and seen.startswith("<")
    return [] if is_placeholder or seen == ours else [path]


@pytest.mark.parametrize("sample_id", STORED)
def test_the_stored_form_has_the_keys_and_values_that_were_observed(sample_id: str) -> None:
    response = SAMPLES[sample_id]["response"]
    submitted = parse_yaml(response["submitted"].replace("<path>", "/shared")).value
    built = build_experiment(submitted, layers=STORED_LAYERS, seed=1, name="x")

    found = differences(response["config"], built.config)

    expected = SEEN_AFTER_EDITS.get(sample_id, set())
    unexpected = [d for d in found if d[0] not in expected and d not in YAML_1_1_KEYS]
    seen_labels = sorted(response["config"]["labels"])
    if [d for d in unexpected if d[0] == "labels"]:
        assert sorted(built.config["labels"]) == seen_labels  # a set: order is not kept
        unexpected = [d for d in unexpected if d[0] != "labels"]
    assert unexpected == []


STORED_LAYERS = type(LAYERS)(
    checkpoint_storage={
        "type": "shared_fs",
        "host_path": "/shared",
        "storage_path": "determined-cp",
    },
    pools=LAYERS.pools,
)


@pytest.mark.parametrize(
    "sample_id",
    [
        "experiments.bad.searcher",
        "experiments.bad.many",
        "experiments.bad.unknown_key",
        "experiments.bad.pool",
        "experiments.bad.no_entrypoint",
    ],
)
def test_refused_values_get_the_same_phrase(sample_id: str) -> None:
    sample = SAMPLES[sample_id]
    phrase = sample["response"]["error"]["error"].split("<")[0].split(": rpc error")[0]
    submitted = parse_yaml(sample["request"]["config"]).value
    with pytest.raises(ConfigErrors) as caught:
        build_experiment(submitted, layers=LAYERS, seed=1, name="x")
    assert str(caught.value).startswith(phrase)


def test_whole_numbers_are_stored_as_integers() -> None:
    built = build(hyperparameters={"lr": 1.0, "deep": {"x": [2.0, 0.5]}})
    assert json.dumps(built.config["hyperparameters"]["lr"]) == '{"type": "const", "val": 1}'
    assert json.dumps(built.config["hyperparameters"]["deep"]["x"]["val"]) == "[2, 0.5]"


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text("abc é", max_size=5),
)
ranges = st.one_of(
    st.builds(
        lambda low, width, count: {"type": "int", "minval": low, "maxval": low + width} | count,
        st.integers(-1000, 1000),
        st.integers(1, 1000),
        st.sampled_from([{}, {"count": 3}, {"count": None}]),
    ),
    st.builds(
        lambda low: {"type": "double", "minval": low, "maxval": low + 1.5}, st.integers(-9, 9)
    ),
    st.just({"type": "log", "base": 10, "minval": -4.0, "maxval": -1}),
    st.lists(scalars, min_size=1, max_size=3).map(lambda v: {"type": "categorical", "vals": v}),
)
names = st.text("abcdef", min_size=1, max_size=3)
spaces = st.recursive(
    st.dictionaries(names, st.one_of(scalars, st.lists(scalars, max_size=2), ranges), max_size=4),
    lambda inner: st.dictionaries(names, st.one_of(inner, ranges), max_size=3),
    max_leaves=6,
)
environments = st.fixed_dictionaries(
    {},
    optional={
        "image": st.sampled_from(["x:1", {"gpu": "g:1"}, {"cpu": "c:1", "rocm": "r:1"}]),
        "environment_variables": st.sampled_from([["A=1"], {"cuda": ["B=2", "A=3"]}, []]),
        "ports": st.just({"a": 1}),
        "proxy_ports": st.just([{"proxy_port": 80}]),
        "add_capabilities": st.sampled_from([[], ["CAP_X"]]),
    },
)
submissions = st.fixed_dictionaries(
    {"hyperparameters": spaces},
    optional={
        "environment": environments,
        "labels": st.lists(st.sampled_from(["a", "b", "c"]), max_size=4),
        "bind_mounts": st.lists(
            st.builds(
                lambda c: {"host_path": "/h", "container_path": c},
                st.sampled_from(["a", "b", "/c"]),
            ),
            max_size=2,
        ),
        "log_policies": st.sampled_from(
            [
                [{"name": "CUDA OOM"}],
                [{"pattern": "x", "action": {"type": "exclude_node"}}],
                [{"name": "mine", "pattern": "y+", "action": "cancel_retries"}],
            ]
        ),
        "checkpoint_storage": st.sampled_from(
            [{"save_trial_best": 3}, {"type": "s3", "bucket": "b", "prefix": "//a/./b/"}]
        ),
        "resources": st.sampled_from(
            [{"slots_per_trial": 0}, {"shm_size": "4 GiB"}, {"devices": ["/dev/a:/dev/b:rw"]}]
        ),
        "entrypoint": st.sampled_from(["x", ["python3", "x.py"]]),
    },
)
LAYERED = type(LAYERS)(
    checkpoint_storage=LAYERS.checkpoint_storage,
    task_container_defaults={
        "environment_variables": ["C=0"],
        "bind_mounts": [{"host_path": "/cluster", "container_path": "a"}],
        "add_capabilities": ["CAP_CLUSTER"],
        "image": "cluster:1",
        "slurm": {"sbatch_args": ["--x"]},
        "log_policies": [{"name": "cluster", "pattern": "z"}],
    },
)


@settings(max_examples=60, deadline=None)
@given(submissions, st.sampled_from([LAYERS, LAYERED]))
def test_building_from_a_stored_configuration_gives_the_same(overrides: Any, layers: Any) -> None:
    first = build(layers, **overrides)
    again = build_experiment(first.config, layers=layers, seed=99, name="other")
    assert again.config == first.config
    assert json.loads(json.dumps(first.config)) == first.config
    assert ExperimentConfig(first.config) == first.typed
