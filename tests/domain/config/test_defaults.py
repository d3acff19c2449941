"""What a configuration holds where its user said nothing (experiment-config 2, 5, 11 to 16)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import ASHA, LAYERS, build

from determined_master.domain.config.layers import TASK_CONTAINER_DEFAULTS
from determined_wire.images import REGISTRY
from determined_wire.release import VERSION

CONFIG = build().config
SHARED = {"type": "shared_fs", "host_path": "/s"}
POLICIES = [
    {"name": "CUDA OOM", "pattern": ".*CUDA out of memory.*"},
    {"name": "ECC Error", "pattern": ".*uncorrectable ECC error encountered.*"},
]
IMAGES = {
    device: f"{REGISTRY}/determined-task-{device}:{VERSION}" for device in ("cpu", "cuda", "rocm")
}
NO_VARIABLES: dict[str, list[str]] = {"cpu": [], "cuda": [], "rocm": []}


def default(rows: str, path: str, value: Any) -> Any:
    return pytest.param(path, value, marks=covers(f"experiment-config {rows}"), id=path)


def at(config: Any, path: str) -> Any:
    for key in path.split("."):
        config = config[key]
    return config


@pytest.mark.parametrize(
    ("path", "value"),
    [
        default("2.name", "name", "Experiment (x)"),
        default("2.description", "description", None),
        default("2.labels", "labels", []),
        default("2.data", "data", {}),
        default("2.workspace", "workspace", ""),
        default("2.workspace", "project", ""),
        default("2.hyperparameters", "hyperparameters", {}),
        default("2.bind_mounts", "bind_mounts", []),
        default("2.checkpoint_policy", "checkpoint_policy", "best"),
        default("2.perform_initial_validation", "perform_initial_validation", False),
        default("2.max_restarts", "max_restarts", 5),
        default("2.preemption_timeout", "preemption_timeout", 3600),
        default("2.log_policies 16.defaults", "log_policies", POLICIES),
        default("2.integrations", "integrations", None),
        default("2.slurm", "slurm", {}),
        default("2.slurm", "pbs", {}),
        default("2.debug", "debug", False),
        default("2.scheduling_unit", "scheduling_unit", 100),
        default("2.records_per_epoch", "records_per_epoch", 0),
        default("2.min_validation_period", "min_validation_period", {"batches": 0}),
        default("2.min_checkpoint_period", "min_checkpoint_period", {"batches": 0}),
        default("2.reproducibility 10.experiment_seed", "reproducibility.experiment_seed", 7),
        default("5.smaller_is_better", "searcher.smaller_is_better", True),
        default("5.source_trial_id", "searcher.source_trial_id", None),
        default("5.source_checkpoint_uuid", "searcher.source_checkpoint_uuid", None),
        default("11.slots_per_trial", "resources.slots_per_trial", 1),
        default("11.max_slots", "resources.max_slots", None),
        default("11.weight", "resources.weight", 1),
        default("11.priority", "resources.priority", 42),
        default("11.resource_pool", "resources.resource_pool", "default"),
        default("11.is_single_node", "resources.is_single_node", None),
        default("11.devices", "resources.devices", []),
        default("11.native_parallel", "resources.native_parallel", False),
        default("12.image 26.rocm_image", "environment.image", IMAGES),
        default("12.environment_variables", "environment.environment_variables", NO_VARIABLES),
        default("12.proxy_ports", "environment.proxy_ports", []),
        default("12.ports", "environment.ports", {}),
        default("12.force_pull_image", "environment.force_pull_image", False),
        default("12.registry_auth", "environment.registry_auth", None),
        default("12.capabilities", "environment.add_capabilities", []),
        default("12.capabilities", "environment.drop_capabilities", []),
        default("12.pod_spec", "environment.pod_spec", None),
        default("14.save_experiment_best", "checkpoint_storage.save_experiment_best", 0),
        default("14.save_trial_best", "checkpoint_storage.save_trial_best", 1),
        default("14.save_trial_latest", "checkpoint_storage.save_trial_latest", 1),
        default("14.shared_fs", "checkpoint_storage.propagation", "rprivate"),
        default("2.profiling 15.profiling.enabled", "profiling.enabled", False),
        default("15.profiling.begin_on_batch", "profiling.begin_on_batch", 0),
        default("15.profiling.end_after_batch", "profiling.end_after_batch", None),
        default("15.profiling.sync_timings", "profiling.sync_timings", True),
        *[
            default(f"2.optimizations 15.optimizations.{key}", f"optimizations.{key}", value)
            for key, value in {
                "aggregation_frequency": 1,
                "average_aggregated_gradients": True,
                "average_training_metrics": True,
                "gradient_compression": False,
                "mixed_precision": "O0",
                "tensor_fusion_threshold": 64,
                "tensor_fusion_cycle_time": 1,
                "auto_tune_tensor_fusion": False,
                "grad_updates_size_file": None,
            }.items()
        ],
    ],
)
def test_a_bare_configuration_is_filled_with_its_defaults(path: str, value: Any) -> None:
    assert at(CONFIG, path) == value


@pytest.mark.parametrize(
    ("key", "section"),
    [
        pytest.param("retention_policy", "", marks=covers("experiment-config 2.retention_policy")),
        pytest.param("data_layer", "", marks=covers("experiment-config 2.data_layer")),
        pytest.param("internal", "", marks=covers("experiment-config 2.internal")),
        pytest.param("security", "", marks=covers("experiment-config 2.security")),
        pytest.param(
            "tensorboard_storage", "", marks=covers("experiment-config 2.tensorboard_storage")
        ),
        pytest.param("max_length", "searcher", marks=covers("experiment-config 5.max_length")),
        pytest.param("agent_label", "resources", marks=covers("experiment-config 11.agent_label")),
    ],
)
def test_rare_keys_are_shown_only_if_set(key: str, section: str) -> None:
    assert key not in (CONFIG[section] if section else CONFIG)


SEARCHER_DEFAULTS = {
    "random": ({"max_trials": 3}, {"max_concurrent_trials": 16}),
    "grid": ({}, {"max_concurrent_trials": 16}),
    "adaptive_asha": (
        ASHA,
        {
            "max_concurrent_trials": 16,
            "mode": "standard",
            "divisor": 4,
            "max_rungs": 5,
            "bracket_rungs": [],
        },
    ),
    "async_halving": ({**ASHA, "num_rungs": 3}, {"max_concurrent_trials": 16, "divisor": 4}),
}


@covers("experiment-config 5.max_concurrent_trials 5.mode 5.divisor 5.max_rungs 5.bracket_rungs")
@pytest.mark.parametrize("name", SEARCHER_DEFAULTS)
def test_a_searcher_has_the_defaults_of_its_kind(name: str) -> None:
    given, expected = SEARCHER_DEFAULTS[name]
    searcher = build(searcher={**given, "name": name, "metric": "loss"}).config["searcher"]
    common = {"name", "metric", "smaller_is_better", "source_trial_id", "source_checkpoint_uuid"}
    assert searcher.items() >= expected.items()
    assert searcher.keys() == common | expected.keys() | (given.keys() - {"name", "metric"})


@covers("experiment-config 13.read_only 13.propagation")
def test_a_mount_is_private_and_may_be_written_to() -> None:
    [mount] = build(bind_mounts=[{"host_path": "/a", "container_path": "b"}]).config["bind_mounts"]
    assert mount == {
        "host_path": "/a",
        "container_path": "b",
        "read_only": False,
        "propagation": "rprivate",
    }


@covers("experiment-config 12.proxy_ports")
def test_a_proxied_port_is_http_with_authentication() -> None:
    [port] = build(environment={"proxy_ports": [{"proxy_port": 80}]}).config["environment"][
        "proxy_ports"
    ]
    assert port == {
        "proxy_port": 80,
        "proxy_tcp": False,
        "unauthenticated": False,
        "default_service_id": False,
    }


@covers("experiment-config 11.priority 18.layer.10")
def test_a_priority_is_that_of_the_pool() -> None:
    assert build(resources={"resource_pool": "aux"}).typed.resources.priority == 50
    assert build(resources={"resource_pool": "aux", "priority": 1}).typed.resources.priority == 1


@covers("experiment-config 11.resource_pool")
def test_the_pool_depends_on_whether_a_trial_has_slots() -> None:
    for slots, pool in ((1, "default"), (0, "aux")):
        built = build(LAYERS, resources={"slots_per_trial": slots})
        assert built.typed.resources.resource_pool == pool


@covers("experiment-config 11.shm_size 2.preemption_timeout")
def test_container_defaults_have_4_gib_of_shared_memory_and_an_hour_to_leave() -> None:
    defaults = TASK_CONTAINER_DEFAULTS.complete({})
    assert defaults["shm_size_bytes"] == 4294967296
    assert defaults["preemption_timeout"] == 3600
    assert build().config["resources"]["shm_size"] is None


@covers("experiment-config 1.6")
def test_defaults_that_are_drawn_or_chosen_are_only_for_what_is_lacking() -> None:
    own = {"name": "mine", "reproducibility": {"experiment_seed": 5}, "log_policies": []}
    built = build(**own)
    assert (built.config["name"], built.typed.seed) == ("mine", 5)
    assert [p["name"] for p in built.config["log_policies"]] == ["CUDA OOM", "ECC Error"]
    assert build().config["name"] == "Experiment (x)"


@covers("experiment-config 2.internal")
def test_a_null_that_only_old_configurations_hold_is_accepted() -> None:
    assert build(internal=None).config == CONFIG
