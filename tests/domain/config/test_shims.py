"""Older and shorter forms are read as what they mean (experiment-config 4, 11, 12, 16, 24)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import ASHA, build

from determined_master.domain.config.sections.hyperparameters import (
    Categorical,
    Const,
    Int,
    LogScale,
    Nested,
)
from determined_master.domain.config.sections.searcher import AdaptiveAsha, AsyncHalving

MIB = 1024**2


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64m", 64 * MIB),
        ("64 MiB", 64 * MIB),
        ("1Gb", 1024 * MIB),
        ("17", 17),
        (5, 5),
        ("2k", 2048),
    ],
)
@covers("experiment-config 11.shm_size")
def test_11_shm_size_is_read_in_units_of_1024(text: Any, size: int) -> None:
    built = build(resources={"shm_size": text})
    assert built.config["resources"]["shm_size"] == size
    assert built.typed.resources.shm_size_bytes == size


@covers("experiment-config 12.image")
def test_12_an_image_text_holds_for_all_types_of_device() -> None:
    image = build(environment={"image": "x:1"}).config["environment"]["image"]
    assert image == {"cpu": "x:1", "cuda": "x:1", "rocm": "x:1"}


@pytest.mark.parametrize(
    ("image", "cuda"), [({"gpu": "g"}, "g"), ({"gpu": "g", "cuda": "c"}, "c")]
)
@covers("experiment-config 12.image 24.gpu 1.4")
def test_24_gpu_stands_for_cuda_unless_that_is_given(image: Any, cuda: str) -> None:
    found = build(environment={"image": image}).config["environment"]["image"]
    assert found["cuda"] == cuda
    assert "gpu" not in found


@covers("experiment-config 12.environment_variables")
def test_12_a_list_of_variables_holds_for_all_types_of_device() -> None:
    built = build(environment={"environment_variables": ["A=1", "B=$A"]})
    assert built.typed.containers.variables == dict.fromkeys(
        ("cpu", "cuda", "rocm"), ("A=1", "B=$A")
    )


@covers("experiment-config 13.device_string")
def test_13_a_device_text_is_read_as_a_map() -> None:
    devices = build(resources={"devices": ["/dev/a:/dev/b:r", "/dev/c:/dev/d"]})
    assert devices.config["resources"]["devices"] == [
        {"host_path": "/dev/a", "container_path": "/dev/b", "mode": "r"},
        {"host_path": "/dev/c", "container_path": "/dev/d", "mode": "mrw"},
    ]


@covers("experiment-config 24.labels_map 2.labels")
def test_24_labels_may_be_a_map_and_are_a_set() -> None:
    assert build(labels={"a": True, "b": False}).config["labels"] == ["a"]
    assert build(labels=["b", "a", "b"]).config["labels"] == ["b", "a"]


@covers("experiment-config 24.action_object 16.action")
def test_24_an_action_object_is_read_as_its_type() -> None:
    policies = [{"pattern": "x", "action": {"type": "cancel_retries"}}]
    first = build(log_policies=policies).config["log_policies"][0]
    assert first == {"pattern": "x", "action": "cancel_retries"}


@covers("experiment-config 4.forms 24.const_hp")
def test_4_scalars_and_lists_become_constants_and_groups_stay_groups() -> None:
    space = {"lr": 0.1, "net": {"act": None, "n": {"type": "int", "minval": 1, "maxval": 3}}}
    built = build(hyperparameters=space)
    assert built.config["hyperparameters"]["net"]["act"] == {"type": "const", "val": None}
    assert built.typed.hyperparameters == {
        "lr": Const(0.1),
        "net": Nested({"act": Const(None), "n": Int(1, 3)}),
    }


@covers("experiment-config 4.log 4.categorical")
def test_4_typed_specs_keep_their_values() -> None:
    space = {
        "a": {"type": "log", "base": 10, "minval": -3, "maxval": -1, "count": 2},
        "b": {"type": "categorical", "vals": [1, "x", None]},
    }
    typed = build(hyperparameters=space).typed.hyperparameters
    assert typed == {"a": LogScale(-3.0, -1.0, 10.0, 2), "b": Categorical((1, "x", None))}


def test_5_asha_is_another_name_of_async_halving() -> None:
    own = {k: v for k, v in ASHA.items() if k != "name"}
    built = build(searcher={**own, "name": "asha", "num_rungs": 3})
    assert built.config["searcher"]["name"] == "async_halving"
    assert built.typed.searcher == AsyncHalving(
        metric="loss", max_trials=16, num_rungs=3, max_time=256, time_metric="batches"
    )


def test_5_defaults_of_adaptive_asha() -> None:
    searcher = build(searcher=ASHA).typed.searcher
    assert searcher == AdaptiveAsha(
        metric="loss", max_trials=16, max_time=256, time_metric="batches"
    )


@pytest.mark.parametrize(("word", "meant"), [("yes", True), ("Off", False), ("no", False)])
def test_words_are_booleans_where_the_schema_wants_one_and_that_is_said(
    word: str, meant: bool
) -> None:
    built = build(debug=word)
    assert built.config["debug"] is meant
    assert any(f"`{word}` is read as" in warning for warning in built.warnings)


@pytest.mark.parametrize(
    "overrides",
    [
        {"scheduling_unit": 5},
        {"optimizations": {"aggregation_frequency": 2}},
        {"min_validation_period": {"batches": 5}},
        {"data_layer": {"type": "x"}},
        {"resources": {"agent_label": "x"}},
        {"profiling": {"begin_on_batch": 1}},
        {"searcher": {"name": "single", "metric": "x", "max_length": {"batches": 5}}},
        {"searcher": {**ASHA, "stop_once": True}},
        {"tensorboard_storage": {"type": "shared_fs", "host_path": "/x"}},
        {"entrypoint": "model_def:Trial"},
    ],
)
@covers("experiment-config 9.periods 24.periods 24.profiling 24.ignored 24.max_length")
@covers("experiment-config 2.scheduling_unit 2.optimizations 2.data_layer 11.agent_label")
@covers("experiment-config 5.stop_once 5.max_length 24.trial_class")
def test_24_what_has_no_effect_any_more_is_said(overrides: dict[str, Any]) -> None:
    assert len(build(**overrides).warnings) == 1


def test_resubmitting_defaults_says_nothing() -> None:
    assert build(**build().config).warnings == ()


@pytest.mark.parametrize("length", [100, {"batches": 5}])
@covers("experiment-config 5.max_length")
def test_24_max_length_is_kept_as_submitted(length: Any) -> None:
    searcher = {"name": "single", "metric": "x", "max_length": length}
    assert build(searcher=searcher).config["searcher"]["max_length"] == length


@covers("experiment-config 24.shared_fs_paths 14.shared_fs")
def test_14_older_keys_of_shared_fs_are_forgotten() -> None:
    storage = {"type": "shared_fs", "host_path": "/a", "checkpoint_path": "b"}
    assert "checkpoint_path" not in build(checkpoint_storage=storage).config["checkpoint_storage"]


@covers("experiment-config 14.prefix")
def test_14_a_prefix_is_normalised() -> None:
    storage = {"type": "s3", "bucket": "b", "prefix": "/a//b/./c/"}
    assert build(checkpoint_storage=storage).config["checkpoint_storage"]["prefix"] == "/a/b/c"


@covers("experiment-config 1.null")
def test_null_is_the_same_as_absent() -> None:
    nulls = {"description": None, "resources": None, "environment": {"image": None}}
    assert build(**nulls).config == build().config
