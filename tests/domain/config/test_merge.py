"""Layers merge by the rules of experiment-config 18."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from tests.covers import covers
from tests.domain.config.builders import ASHA, LAYERS, STORAGE, build
from tests.domain.config.test_stored_form import submissions

from determined_master.domain.config.experiment import ConfigLayers, PoolLayer
from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.policies.rules import Policies, Policy
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.storage import S3


def layers(**overrides: Any) -> ConfigLayers:
    return ConfigLayers(**{"checkpoint_storage": STORAGE, **overrides})


def policies(*invariants: dict[str, Any]) -> Policies:
    """The cluster's, then the workspace's."""
    return Policies(levels=tuple(Policy(invariant_config=i) for i in invariants))


def merged(user: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    return build(layers(template=template), **user).config


@covers("experiment-config 18.scalar 18.layer.4 18.layer.3 18.object")
def test_a_scalar_of_the_user_wins_over_the_template() -> None:
    config = merged({"max_restarts": 1}, {"max_restarts": 2, "description": "from the template"})
    assert (config["max_restarts"], config["description"]) == (1, "from the template")


@covers("experiment-config 18.list 26.template_lists")
def test_a_list_of_the_user_replaces_the_templates() -> None:
    config = merged({"entrypoint": ["a"]}, {"entrypoint": ["b", "c"]})
    assert config["entrypoint"] == ["a"]


@covers("experiment-config 18.map 2.labels")
def test_labels_ports_and_data_are_united() -> None:
    user = {"labels": ["a"], "environment": {"ports": {"x": 1}}, "data": {"a": 1}}
    template = {"labels": ["b", "a"], "environment": {"ports": {"x": 2, "y": 3}}, "data": {"b": 2}}
    config = merged(user, template)
    assert config["labels"] == ["a", "b"]
    assert config["environment"]["ports"] == {"x": 1, "y": 3}
    assert config["data"] == {"a": 1, "b": 2}


@covers("experiment-config 18.bind_mounts 26.template_lists")
def test_mounts_of_a_lower_layer_are_added_unless_their_place_is_taken() -> None:
    user = {"bind_mounts": [{"host_path": "/u", "container_path": "a"}]}
    template = {
        "bind_mounts": [
            {"host_path": "/t", "container_path": "a"},
            {"host_path": "/t", "container_path": "b"},
        ]
    }
    mounts = merged(user, template)["bind_mounts"]
    assert [(m["host_path"], m["container_path"]) for m in mounts] == [("/u", "a"), ("/t", "b")]


@covers("experiment-config 18.environment_variables")
def test_variables_of_a_lower_layer_come_first() -> None:
    user = {"environment": {"environment_variables": {"cpu": ["U=1"]}}}
    found = merged(user, {"environment": {"environment_variables": ["T=1"]}})
    assert found["environment"]["environment_variables"] == {
        "cpu": ["T=1", "U=1"],
        "cuda": ["T=1"],
        "rocm": ["T=1"],
    }


@covers("experiment-config 18.registry_auth")
def test_registry_credentials_are_taken_from_one_side() -> None:
    user = {"environment": {"registry_auth": {"username": "u"}}}
    template = {"environment": {"registry_auth": {"username": "t", "password": "p"}}}
    assert merged(user, template)["environment"]["registry_auth"] == {"username": "u"}


@covers("experiment-config 4.merge 18.hyperparameters")
def test_groups_of_hyperparameters_merge_and_specs_do_not() -> None:
    user = {"hyperparameters": {"g": {"a": {"type": "int", "minval": 1, "maxval": 2}}}}
    template = {
        "hyperparameters": {
            "g": {"a": {"type": "int", "minval": 5, "maxval": 9, "count": 3}, "b": 1},
            "c": 2,
        }
    }
    assert merged(user, template)["hyperparameters"] == {
        "g": {
            "a": {"type": "int", "minval": 1, "maxval": 2},
            "b": {"type": "const", "val": 1},
        },
        "c": {"type": "const", "val": 2},
    }


@covers("experiment-config 5.merge_types 18.unions")
def test_searchers_of_one_type_merge_and_of_two_share_common_keys_only() -> None:
    same = merged({"searcher": {"name": "adaptive_asha", "max_trials": 3}}, {"searcher": ASHA})
    assert (same["searcher"]["max_trials"], same["searcher"]["max_time"]) == (3, 256)

    template = {"searcher": {**ASHA, "smaller_is_better": False, "source_trial_id": 5}}
    other = merged({"searcher": {"name": "single", "metric": "accuracy"}}, template)["searcher"]
    assert "max_trials" not in other
    assert (other["metric"], other["smaller_is_better"], other["source_trial_id"]) == (
        "accuracy",
        False,
        5,
    )


def test_a_searcher_without_a_name_takes_the_templates() -> None:
    config = merged({"searcher": {"max_trials": 4}}, {"searcher": ASHA})
    assert (config["searcher"]["name"], config["searcher"]["max_trials"]) == ("adaptive_asha", 4)


@covers("experiment-config 18.layer.8 18.layer.9 18.unions 2.checkpoint_storage")
def test_storage_of_the_user_wins_over_workspace_over_cluster() -> None:
    workspace = {"type": "s3", "bucket": "w", "save_trial_best": 4}
    both = layers(workspace_checkpoint_storage=workspace)
    assert build(both).typed.checkpoint_storage == S3(bucket="w", save_trial_best=4)
    found = build(both, checkpoint_storage={"save_trial_latest": 9}).typed.checkpoint_storage
    assert found == S3(bucket="w", save_trial_best=4, save_trial_latest=9)
    gcs = build(both, checkpoint_storage={"type": "gcs", "bucket": "g"}).config
    assert gcs["checkpoint_storage"]["save_trial_best"] == 4


def test_only_the_directory_that_may_be_created_is_created() -> None:
    workspace = {"type": "shared_fs", "host_path": "/w", "create": True}
    both = layers(workspace_checkpoint_storage=workspace)
    same = build(both, checkpoint_storage={"save_trial_latest": 9}).config["checkpoint_storage"]
    assert (same["host_path"], same["create"]) == ("/w", True)
    user = {"type": "shared_fs", "host_path": "/mistyped"}
    other = build(both, checkpoint_storage=user).config["checkpoint_storage"]
    assert (other["host_path"], "create" in other) == ("/mistyped", False)


@covers("experiment-config 18.azure 14.azure")
def test_azure_credentials_are_taken_from_one_side() -> None:
    cluster = {"type": "azure", "container": "c", "connection_string": "s"}
    user = {"type": "azure", "account_url": "u", "credential": "k"}
    found = build(layers(checkpoint_storage=cluster), checkpoint_storage=user).config
    assert found["checkpoint_storage"] == {
        "type": "azure",
        "container": "c",
        "connection_string": None,
        "account_url": "u",
        "credential": "k",
        "save_experiment_best": 0,
        "save_trial_best": 1,
        "save_trial_latest": 1,
    }


@covers("helm-and-kubernetes 9.zero")
@covers("experiment-config 18.container_defaults 18.layer.5 18.layer.7 18.layer.10")
@covers("experiment-config 18.capabilities 18.batch_args 12.capabilities")
def test_container_defaults_of_pool_and_cluster_reach_the_experiment() -> None:
    cluster = {
        "image": "cluster:1",
        "environment_variables": ["C=1"],
        "add_capabilities": ["B"],
        "drop_capabilities": ["D"],
        "gpu_pod_spec": {"spec": {"nodeSelector": {"a": "b"}}},
        "cpu_pod_spec": {"spec": {"nodeSelector": {"c": "d"}}},
        "preemption_timeout": 60,
        "slurm": {"sbatch_args": ["--c"]},
    }
    pool = {
        "image": {"cuda": "pool:1"},
        "environment_variables": ["P=1"],
        "add_capabilities": ["A"],
    }
    both = layers(
        task_container_defaults=cluster,
        pools={"default": PoolLayer(task_container_defaults=pool, default_priority=9)},
    )
    config = build(both, slurm={"sbatch_args": ["--u"]}).config
    environment = config["environment"]
    assert environment["image"] == {"cpu": "cluster:1", "cuda": "pool:1", "rocm": "cluster:1"}
    assert environment["environment_variables"]["cuda"] == ["C=1", "P=1"]
    assert environment["add_capabilities"] == ["A", "B"]
    assert environment["pod_spec"] == cluster["gpu_pod_spec"]
    assert config["preemption_timeout"] == 60
    assert config["resources"]["priority"] == 9
    assert config["slurm"] == {"sbatch_args": ["--c", "--u"]}

    zero = build(both, resources={"slots_per_trial": 0}).config
    assert zero["environment"]["pod_spec"] == cluster["cpu_pod_spec"]
    own = build(both, environment={"add_capabilities": ["X"]}).config
    assert own["environment"]["add_capabilities"] == ["X"]


@covers("experiment-config 11.resource_pool 18.layer.10")
def test_trials_without_slots_go_to_the_aux_pool_with_its_priority() -> None:
    resources = build(LAYERS, resources={"slots_per_trial": 0}).typed.resources
    assert (resources.resource_pool, resources.priority) == ("aux", 50)
    assert build(LAYERS).typed.resources.resource_pool == "default"


@covers("experiment-config 16.defaults 16.merge 18.log_policies 16.pattern")
def test_own_log_policies_come_first_and_a_name_alone_disables_a_default() -> None:
    own = [{"name": "mine", "pattern": "x"}, {"name": "CUDA OOM"}]
    assert build(log_policies=own).config["log_policies"] == [
        {"name": "mine", "pattern": "x"},
        {"name": "CUDA OOM"},
        {"name": "ECC Error", "pattern": ".*uncorrectable ECC error encountered.*"},
    ]


@covers("helm-and-kubernetes 10.lists")
def test_pods_merge_by_key_and_named_lists_by_name() -> None:
    low = {"spec": {"volumes": [{"name": "a", "x": 1, "y": 1}, {"name": "b"}], "l": [1]}}
    high = {"spec": {"volumes": [{"name": "a", "x": 2}], "l": [2]}}
    found = merged({"environment": {"pod_spec": high}}, {"environment": {"pod_spec": low}})
    assert found["environment"]["pod_spec"] == {
        "spec": {"volumes": [{"name": "a", "x": 2, "y": 1}, {"name": "b"}], "l": [2]}
    }


@covers("experiment-config 18.layer.1")
def test_a_policy_wins_over_the_user() -> None:
    admin = layers(policies=policies({"resources": {"priority": 60}}))
    assert build(admin, resources={"priority": 1, "weight": 2}).config["resources"] == {
        **build(admin).config["resources"],
        "priority": 60,
        "weight": 2,
    }


@covers("experiment-config 1.5 18.layer.1 18.layer.3 18.layer.4 18.layer.5 18.layer.7 18.layer.11")
def test_of_all_layers_the_highest_that_says_something_wins() -> None:
    said = {
        "policies": policies({"preemption_timeout": 1}),
        "user": {"preemption_timeout": 2},
        "template": {"preemption_timeout": 3},
        "pools": {"default": PoolLayer(task_container_defaults={"preemption_timeout": 4})},
        "task_container_defaults": {"preemption_timeout": 5},
    }
    found = []
    for count in range(len(said) + 1):
        lower = dict(list(said.items())[count:])
        user = lower.pop("user", {})
        found.append(build(layers(**lower), **user).config["preemption_timeout"])
    assert found == [1, 2, 3, 4, 5, 3600]


@covers("experiment-config 18.container_defaults")
def test_zero_seconds_of_the_cluster_are_a_value() -> None:
    none = layers(task_container_defaults={"preemption_timeout": 0})
    assert build(none).config["preemption_timeout"] == 0


@covers("experiment-config 18.container_defaults 18.bind_mounts 18.log_policies")
def test_devices_mounts_policies_and_credentials_of_the_cluster_are_added() -> None:
    cluster = {
        "devices": ["/dev/a:/dev/a", "/dev/b:/dev/b"],
        "bind_mounts": [{"host_path": "/c", "container_path": "c"}],
        "log_policies": [{"name": "mine", "pattern": "low"}, {"name": "low", "pattern": "x"}],
        "registry_auth": {"username": "u", "serveraddress": "r"},
        "force_pull_image": True,
        "pbs": {"pbsbatch_args": ["-A c"]},
    }
    config = build(
        layers(task_container_defaults=cluster),
        resources={"devices": ["/dev/z:/dev/a"]},
        log_policies=[{"name": "mine", "pattern": "high"}],
    ).config
    devices = [(d["host_path"], d["container_path"]) for d in config["resources"]["devices"]]
    assert devices == [("/dev/z", "/dev/a"), ("/dev/b", "/dev/b")]
    assert [m["host_path"] for m in config["bind_mounts"]] == ["/c"]
    policies = [(p["name"], p["pattern"]) for p in config["log_policies"]][:2]
    assert policies == [("mine", "high"), ("low", "x")]
    assert config["environment"]["registry_auth"] == cluster["registry_auth"]
    assert config["environment"]["force_pull_image"] is True
    assert config["pbs"] == cluster["pbs"]
    quiet = build(
        layers(task_container_defaults=cluster), environment={"force_pull_image": False}
    ).config
    assert quiet["environment"]["force_pull_image"] is False


@covers("experiment-config 1.4 24.gpu")
def test_older_forms_are_rewritten_before_layers_meet() -> None:
    user, template = {"image": {"cuda": "new:1"}}, {"image": {"gpu": "old:1", "cpu": "c:1"}}
    image = merged({"environment": user}, {"environment": template})["environment"]["image"]
    assert (image["cuda"], image["cpu"]) == ("new:1", "c:1")
    template = {"searcher": {**ASHA, "name": "async_halving", "num_rungs": 9}}
    searcher = merged({"searcher": {"name": "asha", "num_rungs": 2}}, template)["searcher"]
    assert (searcher["num_rungs"], searcher["max_trials"]) == (2, 16)


@covers("experiment-config 1.eventuallyRequired 1.7")
def test_a_required_key_may_come_from_any_layer() -> None:
    template = {"searcher": {"metric": "loss"}, "entrypoint": "x"}
    bare = {"searcher": {"name": "single", "metric": None}, "entrypoint": None}
    config = merged(bare, template)
    assert (config["searcher"]["metric"], config["entrypoint"]) == ("loss", "x")


@covers("experiment-config 18.proxy_ports")
def test_proxied_ports_merge_by_port() -> None:
    user = {"proxy_ports": [{"proxy_port": 80, "proxy_tcp": True}]}
    template = {"proxy_ports": [{"proxy_port": 80}, {"proxy_port": 81}]}
    ports = merged({"environment": user}, {"environment": template})["environment"]["proxy_ports"]
    assert [(p["proxy_port"], p["proxy_tcp"]) for p in ports] == [(80, True), (81, False)]


@covers("experiment-config 18.pod_spec")
def test_lists_of_a_pod_merge_by_the_key_of_their_items() -> None:
    mounts = [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]
    low = {"containers": [{"name": "c", "volumeMounts": mounts}], "tolerations": [{"key": "a"}]}
    extra = [{"name": "w", "mountPath": "/b"}]
    high = {"containers": [{"name": "c", "volumeMounts": extra}], "tolerations": [{"key": "b"}]}
    spec = {"environment": {"pod_spec": {"spec": high}}}
    found = merged(spec, {"environment": {"pod_spec": {"spec": low}}})
    assert found["environment"]["pod_spec"]["spec"] == {
        "containers": [{"name": "c", "volumeMounts": [*extra, mounts[0]]}],
        "tolerations": [{"key": "b"}],
    }


@covers("helm-and-kubernetes 10.layers")
def test_the_pod_of_a_pool_replaces_that_of_the_cluster_below_the_users() -> None:
    def pod(**selector: str) -> dict[str, Any]:
        return {"spec": {"nodeSelector": selector}}

    both = layers(
        task_container_defaults={"gpu_pod_spec": pod(of="cluster", more="x")},
        pools={"default": PoolLayer(task_container_defaults={"gpu_pod_spec": pod(of="pool")})},
    )
    assert build(both).config["environment"]["pod_spec"] == pod(of="pool")
    own = build(both, environment={"pod_spec": pod(own="y")}).config
    assert own["environment"]["pod_spec"] == pod(of="pool", own="y")


@settings(max_examples=60, deadline=None)
@given(submissions)
def test_merging_a_layer_with_itself_changes_nothing(overrides: Any) -> None:
    read = EXPERIMENT.read(overrides, "<config>", ProblemReport())
    assert EXPERIMENT.merge(read, read) == read


@settings(max_examples=40, deadline=None)
@given(submissions, submissions)
def test_merging_leaves_its_layers_as_they_are(high: Any, low: Any) -> None:
    before = EXPERIMENT.read(high, "", ProblemReport()), EXPERIMENT.read(low, "", ProblemReport())
    EXPERIMENT.merge(*before)
    assert before == (
        EXPERIMENT.read(high, "", ProblemReport()),
        EXPERIMENT.read(low, "", ProblemReport()),
    )
