"""What earlier releases have stored stays readable (experiment-config 5, 9, 14, 24)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import ASHA, build

from determined_master.domain.config.experiment_config import ExperimentConfig
from determined_master.domain.config.sections.hyperparameters import Const
from determined_master.domain.config.sections.searcher import AdaptiveAsha, Removed
from determined_master.domain.config.stored import LEGACY_HDFS, read_stored
from determined_master.domain.experiment import messages as e
from determined_master.domain.experiment.machine import step
from determined_master.domain.search.method import SearchContext, SearchError, SearchMemory
from determined_master.domain.search.method import build as build_search

COMMON = {"metric": "loss", "smaller_is_better": False, "max_length": {"epochs": 3}}
REMOVED: dict[str, dict[str, Any]] = {
    "sync_halving": {**COMMON, "num_rungs": 3, "budget": {"batches": 100}},
    "adaptive": {**COMMON, "budget": {"epochs": 9}, "mode": "aggressive"},
    "adaptive_simple": {**COMMON, "max_trials": 50},
    "custom": {"metric": "loss", "unit": "epochs", "anything": [1]},
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "sync_halving": {"divisor": 4, "train_stragglers": True},
    "adaptive": {"divisor": 4, "max_rungs": 5, "bracket_rungs": [], "train_stragglers": True},
    "adaptive_simple": {"divisor": 4, "max_rungs": 5, "mode": "standard"},
    "custom": {"anything": [1]},
}


def stored(**overrides: Any) -> dict[str, Any]:
    return {**build().config, **overrides}


@pytest.mark.parametrize("name", REMOVED)
@covers("experiment-config 5.sync_halving 5.adaptive 5.adaptive_simple 5.custom 24.searchers")
def test_a_removed_searcher_is_read_with_its_fields_and_defaults(name: str) -> None:
    shortened = stored(searcher={"name": name, **REMOVED[name]})
    del shortened["log_policies"]  # stored by a release that had none
    read = read_stored(shortened)
    assert read.is_whole
    assert isinstance(read.searcher, Removed)
    assert (read.searcher.name, read.searcher.metric) == (name, "loss")
    assert read.config["searcher"].items() >= {**DEFAULTS[name], **REMOVED[name]}.items()


@covers("experiment-config 5.custom 24.searchers")
def test_the_search_of_a_removed_method_ends_with_the_reason() -> None:
    read = read_stored(stored(searcher={"name": "custom", "metric": "loss"}))
    method = build_search(read.searcher, read.hyperparameters, read.seed)
    with pytest.raises(SearchError, match="custom has been removed"):
        method.preview()
    running = e.Experiment(id=1, state="ACTIVE", trials_requested=2)
    ended = e.TrialEnded(request_id="r", end="clean")
    state, _ = step(running, ended, SearchContext(method, SearchMemory()))
    assert state.state == "STOPPING_ERROR"
    assert "has been removed" in state.reason


def test_a_configuration_of_this_release_is_used_unchanged() -> None:
    config = build(hyperparameters={"a": 1}).config
    read = read_stored(config)
    assert (read.config, read.is_whole, read.seed) == (config, True, 7)
    assert read.hyperparameters == {"a": Const(1)}


@pytest.mark.parametrize(
    ("length", "metric", "time"), [({"epochs": 9}, "epochs", 9), (500, "batches", 500)]
)
@covers("experiment-config 5.missing_time 9.length 9.rung_cap")
def test_a_halving_search_from_before_time_metrics_takes_its_max_length(
    length: Any, metric: str, time: int
) -> None:
    older = {k: v for k, v in ASHA.items() if k not in ("time_metric", "max_time")}
    config = stored(searcher={**older, "max_length": length})
    config["environment"] = {"image": {"gpu": "old:1"}}
    read = read_stored(config)
    assert isinstance(read.searcher, AdaptiveAsha)
    assert (read.searcher.time_metric, read.searcher.max_time) == (metric, time)
    assert read.config["environment"]["image"]["cuda"] == "old:1"


@covers("experiment-config 14.hdfs 24.hdfs")
def test_checkpoints_in_hdfs_are_shown_in_a_directory_of_that_name() -> None:
    hdfs = {"type": "hdfs", "hdfs_url": "http://h", "hdfs_path": "/p", "save_trial_best": 3}
    found = read_stored(stored(checkpoint_storage=hdfs)).config["checkpoint_storage"]
    assert found.items() >= {**LEGACY_HDFS, "save_trial_best": 3}.items()


@covers("experiment-config 24.legacy_reader 5.pbt")
def test_of_what_cannot_be_read_the_parts_that_can_are_kept() -> None:
    config = {
        "checkpoint_storage": {"type": "s3", "bucket": "b"},
        "bind_mounts": "nonsense",
        "environment": {"image": "x:1"},
        "hyperparameters": {"lr": 0.1},
        "searcher": {"name": "pbt", "metric": "acc", "smaller_is_better": False, "x": object},
        "batches_per_step": 100,
        "max_restarts": "many",
    }
    read = read_stored(config)
    assert not read.is_whole
    assert read.config["checkpoint_storage"]["bucket"] == "b"
    assert read.config["bind_mounts"] == []
    assert read.config["environment"]["image"]["cpu"] == "x:1"
    assert read.hyperparameters == {"lr": Const(0.1)}
    assert read.searcher == Removed(name="pbt", metric="acc", smaller_is_better=False)
    assert read.config["max_restarts"] == 5


OLDER_SECTIONS: dict[str, dict[str, Any]] = {
    "unreachable storage": {"checkpoint_storage": {"type": "hdfs", "save_trial_best": 3}},
    "null propagation": {
        "checkpoint_storage": {"type": "shared_fs", "host_path": "/h", "propagation": None}
    },
    "missing resources": {"resources": {}},
    "device as text": {"resources": {"slots_per_trial": 2, "devices": ["/dev/a:/dev/b"]}},
    "image as text": {"environment": {"image": "o:1", "environment_variables": ["A=1"]}},
    "mount with nulls": {
        "bind_mounts": [{"host_path": "/a", "container_path": "b", "propagation": None}]
    },
    "unknown keys": {"environment": {"image": "o:1", "horovod": True}},
}


@pytest.mark.parametrize("name", OLDER_SECTIONS)
def test_a_section_of_an_older_release_is_read_and_its_document_is_kept(name: str) -> None:
    document = stored(**OLDER_SECTIONS[name])
    before = copy.deepcopy(document)
    config = ExperimentConfig(document)
    assert config.containers.images["cuda"]
    assert config.keep_counts.save_trial_latest == 1
    assert (config.resources.priority, config.resources.weight) == (42, 1)
    assert all(m.propagation == "rprivate" for m in config.containers.bind_mounts)
    assert document == before


def test_missing_values_of_a_stored_configuration_have_their_defaults() -> None:
    document = stored()
    for key in ("max_restarts", "preemption_timeout", "log_policies", "bind_mounts", "debug"):
        del document[key]
    config = ExperimentConfig(document)
    assert (config.max_restarts, config.preemption_timeout_s) == (5, 3600)
    assert (len(config.log_policies), config.containers.bind_mounts) == (2, ())
