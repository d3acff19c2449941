"""What users may write, and the form in which it is kept (experiment-config 1 to 16)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import ASHA, build, problems

UUID = "6a9cb3c5-0d62-4dd0-a3c9-0d1c1c1e1d11"
SHARED = {"type": "shared_fs", "host_path": "/shared"}
PACHYDERM = {
    "pachd": {"host": "h", "port": 1},
    "proxy": {"scheme": "https", "host": "h", "port": 2},
    "dataset": {"project": "p", "repo": "r", "commit": "c", "branch": "b", "token": "t"},
}


def accepted(rows: str, overrides: dict[str, Any], path: str = "", value: Any = None) -> Any:
    """A case; without a value the part is kept as it was written."""
    if path and value is None:
        value = at(overrides, path)
    return pytest.param(overrides, path, value, marks=covers(f"experiment-config {rows}"))


def at(config: Any, path: str) -> Any:
    for key in path.split("."):
        config = config[int(key)] if isinstance(config, list) else config[key]
    return config


def single(**fields: Any) -> dict[str, Any]:
    return {"searcher": {"name": "single", "metric": "x", **fields}}


def storage(**fields: Any) -> dict[str, Any]:
    return {"checkpoint_storage": fields}


def space(spec: Any) -> dict[str, Any]:
    return {"hyperparameters": {"x": spec}}


@pytest.mark.parametrize(
    ("overrides", "path", "value"),
    [
        accepted("2.version 1.2", {"version": 0}),
        accepted("2.labels", {"labels": ["b", "a", "b"]}, "labels", ["b", "a"]),
        accepted("2.labels 24.labels_map", {"labels": {"a": True, "b": False}}, "labels", ["a"]),
        accepted("2.data", {"data": {"a": [1, {"b": None}], "c": 1e-4}}, "data"),
        accepted("2.workspace", {"workspace": "w", "project": "p"}, "project"),
        accepted("2.entrypoint 3.string", {"entrypoint": "python3 x.py && y"}, "entrypoint"),
        accepted("2.entrypoint 3.list", {"entrypoint": ["python3", "x y.py"]}, "entrypoint"),
        *[
            accepted("2.checkpoint_policy", {"checkpoint_policy": word}, "checkpoint_policy")
            for word in ("best", "all", "none")
        ],
        accepted("2.max_restarts", {"max_restarts": 0}, "max_restarts"),
        accepted("2.preemption_timeout", {"preemption_timeout": 0}, "preemption_timeout"),
        accepted("2.debug", {"debug": True}, "debug"),
        accepted(
            "2.perform_initial_validation",
            {"perform_initial_validation": True},
            "perform_initial_validation",
        ),
        *[
            accepted(
                "2.length 2.min_validation_period", {"min_validation_period": {unit: 5}},
                "min_validation_period",
            )
            for unit in ("batches", "records", "epochs")
        ],
        accepted("2.data_layer 24.ignored", {"data_layer": {"type": "s3", "x": 1}}, "data_layer"),
        accepted("2.security 24.ignored", {"security": {"kerberos": {"config_file": "/k"}}},
                 "security"),
        *[
            accepted("2.tensorboard_storage 24.ignored", {"tensorboard_storage": kind},
                     "tensorboard_storage.type")
            for kind in (
                SHARED, {"type": "s3", "bucket": "b"}, {"type": "gcs", "bucket": "b"},
                {**SHARED, "container_path": "/c", "checkpoint_path": "/p",
                 "tensorboard_path": "/t"},
            )
        ],
        accepted("2.integrations 16.pachyderm.pachd 16.pachyderm.proxy 16.pachyderm.dataset",
                 {"integrations": {"pachyderm": PACHYDERM}}, "integrations.pachyderm"),
        accepted(
            "16.webhooks.webhook_id 16.webhooks.webhook_name",
            {"integrations": {"webhooks": {"webhook_id": [1, 2], "webhook_name": ["a"]}}},
            "integrations.webhooks",
            {"webhook_id": [1, 2], "webhook_name": ["a"], "exclude": False},
        ),
        accepted("16.webhooks.exclude", {"integrations": {"webhooks": {"exclude": True}}},
                 "integrations.webhooks.exclude"),
        accepted("16.log_retention_days 2.retention_policy",
                 {"retention_policy": {"log_retention_days": -1}}, "retention_policy"),
        accepted("16.log_retention_days", {"retention_policy": {"log_retention_days": 32767}},
                 "retention_policy"),
        # hyperparameters
        accepted("4.int", space({"type": "int", "minval": -1, "maxval": 2, "count": 1}),
                 "hyperparameters.x"),
        accepted("4.double", space({"type": "double", "minval": 0, "maxval": 0.5, "count": 9}),
                 "hyperparameters.x"),
        accepted("4.log", space({"type": "log", "base": 2.5, "minval": -3, "maxval": 1}),
                 "hyperparameters.x"),
        accepted("4.categorical", space({"type": "categorical", "vals": [1, None, [2], {"a": 3}]}),
                 "hyperparameters.x"),
        accepted("4.const", space({"type": "const", "val": {"type": [1, None]}}),
                 "hyperparameters.x"),
        accepted("4.forms 24.const_hp", space(0.5), "hyperparameters.x",
                 {"type": "const", "val": 0.5}),
        accepted("4.forms", {"hyperparameters": {"x": None}}, "hyperparameters.x",
                 {"type": "const", "val": None}),
        accepted("4.lists 24.const_hp", space([1, {"type": "int"}]), "hyperparameters.x",
                 {"type": "const", "val": [1, {"type": "int"}]}),
        accepted("4.forms", space({"a": {"b": {"c": 1}}}), "hyperparameters.x.a.b.c",
                 {"type": "const", "val": 1}),
        accepted("24.count_null", space({"type": "int", "minval": 0, "maxval": 1, "count": None}),
                 "hyperparameters.x", {"type": "int", "minval": 0, "maxval": 1}),
        accepted("4.single_const 26.single_hps",
                 space({"type": "double", "minval": 0, "maxval": 1}), "hyperparameters.x"),
        accepted("4.global_batch_size", {"hyperparameters": {}}, "hyperparameters", {}),
        # searchers
        accepted("5.smaller_is_better", single(smaller_is_better=False),
                 "searcher.smaller_is_better"),
        accepted("5.source_trial_id", single(source_trial_id=3), "searcher.source_trial_id"),
        accepted("5.source_checkpoint_uuid", single(source_checkpoint_uuid=UUID),
                 "searcher.source_checkpoint_uuid"),
        accepted("5.max_length 2.length", single(max_length=100), "searcher.max_length"),
        accepted("5.max_length", single(max_length={"epochs": 3}), "searcher.max_length"),
        accepted("5.max_concurrent_trials", {"searcher": {**ASHA, "max_concurrent_trials": 0}},
                 "searcher.max_concurrent_trials"),
        accepted("5.divisor", {"searcher": {**ASHA, "divisor": 1.5}}, "searcher.divisor"),
        *[
            accepted("5.mode", {"searcher": {**ASHA, "mode": mode}}, "searcher.mode")
            for mode in ("aggressive", "standard", "conservative")
        ],
        accepted("5.bracket_rungs", {"searcher": {**ASHA, "bracket_rungs": [3, 1]}},
                 "searcher.bracket_rungs"),
        accepted("5.stop_once", {"searcher": {**ASHA, "stop_once": True}}, "searcher.stop_once"),
        accepted("5.num_rungs 5.time_metric 5.max_time",
                 {"searcher": {**ASHA, "name": "async_halving", "num_rungs": 2}},
                 "searcher.num_rungs"),
        # resources and environment
        accepted("11.slots_per_trial", {"resources": {"slots_per_trial": 0}},
                 "resources.slots_per_trial"),
        accepted("11.max_slots", {"resources": {"max_slots": 8}}, "resources.max_slots"),
        accepted("11.weight", {"resources": {"weight": 0.5}}, "resources.weight"),
        accepted("11.priority", {"resources": {"priority": 99}}, "resources.priority"),
        accepted("11.is_single_node", {"resources": {"is_single_node": True}},
                 "resources.is_single_node"),
        accepted("11.native_parallel", {"resources": {"native_parallel": True}},
                 "resources.native_parallel"),
        accepted("11.agent_label 24.ignored", {"resources": {"agent_label": "x"}},
                 "resources.agent_label"),
        accepted("12.ports", {"environment": {"ports": {"a": 80}}}, "environment.ports"),
        accepted("12.force_pull_image", {"environment": {"force_pull_image": True}},
                 "environment.force_pull_image"),
        accepted("12.registry_auth 26.registry_optional",
                 {"environment": {"registry_auth": {"auth": "a", "serveraddress": "r"}}},
                 "environment.registry_auth"),
        accepted("12.capabilities",
                 {"environment": {"add_capabilities": ["A"], "drop_capabilities": ["B"]}},
                 "environment.drop_capabilities"),
        accepted(
            "12.pod_spec 12.pod_restrictions",
            {"environment": {"pod_spec": {"spec": {
                "containers": [{"name": "side", "image": "x"},
                               {"name": "determined-container", "resources": {"limits": {}}}],
                "volumes": [{"name": "v"}],
            }}}},
            "environment.pod_spec",
        ),
        accepted("13.container_path",
                 {"bind_mounts": [{"host_path": "/a", "container_path": "b"}]},
                 "bind_mounts.0.container_path"),
        accepted("13.read_only 13.propagation", {"bind_mounts": [
            {"host_path": "/a", "container_path": "b", "read_only": True, "propagation": "shared"}
        ]}, "bind_mounts"),
        accepted("13.device_string", {"resources": {"devices": ["/a:/b:rw"]}}, "resources.devices",
                 [{"host_path": "/a", "container_path": "/b", "mode": "rw"}]),
        accepted("13.device_map",
                 {"resources": {"devices": [{"host_path": "/a", "container_path": "/b"}]}},
                 "resources.devices",
                 [{"host_path": "/a", "container_path": "/b", "mode": "mrw"}]),
        # storage
        accepted("14.shared_fs", storage(**SHARED, storage_path="a/b"),
                 "checkpoint_storage.storage_path"),
        accepted("14.shared_fs 1.compareProperties", storage(**SHARED, storage_path="/shared/b"),
                 "checkpoint_storage.storage_path"),
        accepted("14.directory", storage(type="directory", container_path="/c"),
                 "checkpoint_storage.container_path"),
        accepted("14.s3 26.s3_keys", storage(type="s3", bucket="b"), "checkpoint_storage.bucket"),
        accepted("14.s3", storage(type="s3", bucket="b", access_key="a", secret_key="s",
                                  endpoint_url="u"), "checkpoint_storage.endpoint_url"),
        accepted("14.s3", storage(type="s3", bucket="b", prefix="a..b/..c"),
                 "checkpoint_storage.prefix"),
        accepted("14.gcs", storage(type="gcs", bucket="b", prefix="p"),
                 "checkpoint_storage.prefix"),
        accepted("14.azure", storage(type="azure", container="c", connection_string="x"),
                 "checkpoint_storage.connection_string"),
        accepted("14.azure", storage(type="azure", container="c", account_url="u", credential="k"),
                 "checkpoint_storage.credential"),
        # small sections
        accepted("15.profiling.enabled 2.profiling", {"profiling": {"enabled": True}},
                 "profiling.enabled"),
        accepted("15.profiling.begin_on_batch 15.profiling.end_after_batch 24.profiling",
                 {"profiling": {"begin_on_batch": 2, "end_after_batch": 2}},
                 "profiling.end_after_batch"),
        accepted("15.slurm.slots_per_node 15.slurm.gpu_type 2.slurm",
                 {"slurm": {"slots_per_node": 2, "gpu_type": "a100"}}, "slurm"),
        accepted("15.slurm.sbatch_args",
                 {"slurm": {"sbatch_args": ["--time=2:00", "-A x", "--gres=lustre"]}}, "slurm"),
        accepted("15.pbs.slots_per_node", {"pbs": {"slots_per_node": 2}}, "pbs"),
        accepted("15.pbs.pbsbatch_args", {"pbs": {"pbsbatch_args": ["-l select=1", "-A x"]}},
                 "pbs"),
        # log policies
        accepted("16.pattern", {"log_policies": [{"name": "n"}]}, "log_policies.0"),
        *[
            accepted("16.action",
                     {"log_policies": [{"name": "n", "pattern": "x", "action": word}]},
                     "log_policies.0")
            for word in ("cancel_retries", "exclude_node")
        ],
        accepted("16.name 24.unnamed_policies",
                 {"log_policies": [{"pattern": "x", "action": "exclude_node"}]}, "log_policies.0"),
        accepted("16.action 24.action_object",
                 {"log_policies": [{"pattern": "x", "action": {"type": "exclude_node"}}]},
                 "log_policies.0", {"pattern": "x", "action": "exclude_node"}),
    ],
)  # fmt: skip
def test_a_valid_policy_is_stored_in_its_canonical_form(
    overrides: dict[str, Any], path: str, value: Any
) -> None:
    config = build(**overrides).config
    if path:
        assert at(config, path) == value


@covers("experiment-config 1.null 1.optionalRef")
@pytest.mark.parametrize("key", sorted(build().config.keys() - {"searcher", "entrypoint"}))
def test_null_is_the_same_as_absent_forevery_key(key: str) -> None:
    assert build(**{key: None}).config == build().config


@covers("experiment-config 1.compareProperties")
@pytest.mark.parametrize(
    "overrides",
    [
        {"profiling": {"begin_on_batch": 5}},
        {"profiling": {"begin_on_batch": 5, "end_after_batch": None}},
        {"resources": {"slots_per_trial": 5, "max_slots": None}},
    ],
)
def test_two_values_are_compared_only_where_both_are_there(overrides: dict[str, Any]) -> None:
    assert problems(**overrides) == []


@covers("experiment-config 2.description")
def test_a_long_description_is_kept_with_a_warning() -> None:
    built = build(description="x" * 256)
    assert built.config["description"] == "x" * 256
    assert [w for w in built.warnings if "255" in w]
    assert not build(description="x" * 255).warnings


@covers("experiment-config 12.registry_auth 24.registry_auth 26.registry_optional")
def test_registry_credentials_without_a_server_are_kept_with_a_warning() -> None:
    auth = {"username": "u", "password": "p"}
    built = build(environment={"registry_auth": auth})
    assert built.config["environment"]["registry_auth"] == auth
    assert [w for w in built.warnings if "serveraddress" in w]


@covers("experiment-config 14.user")
def test_an_old_key_of_storage_is_tolerated_and_forgotten() -> None:
    built = build(checkpoint_storage={**SHARED, "user": "hdfs"})
    assert "user" not in built.config["checkpoint_storage"]


@covers("experiment-config 2.grid_count 4.lists")
@pytest.mark.parametrize(
    "value",
    [[1, 2], [{"type": "int", "minval": 0, "maxval": 3, "count": 2}], [{"type": "const"}], {}],
)
def test_a_grid_may_have_lists_whose_ranges_have_counts(value: Any) -> None:
    grid = {"name": "grid", "metric": "x"}
    assert problems(searcher=grid, hyperparameters={"a": value}) == []
