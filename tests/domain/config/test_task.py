"""Configurations of interactive and generic tasks: what both have (experiment-config 22, 23)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.tasks import (
    OWN_COMMAND,
    WITH_SLOTS,
    build,
    each_kind,
    environment_of,
    layers,
    problems,
)

from determined_master.domain.config.policies.rules import Policies, Policy
from determined_master.domain.config.sections.environment import DEFAULT_IMAGES
from determined_master.domain.config.task import (
    TaskErrors,
    TaskOptions,
    build_task,
    typed_task,
    work_directory,
)
from determined_master.domain.config.template import check_template
from determined_master.domain.errors import InvalidArgument

# What both have.


@covers("experiment-config 22.entrypoint 23.entrypoint")
@pytest.mark.parametrize("kind", OWN_COMMAND)
def test_a_command_is_a_list_that_is_not_empty(kind: str) -> None:
    assert build(kind, {"entrypoint": ["python3", "-c", "1"]}).typed.entrypoint == (
        "python3",
        "-c",
        "1",
    )
    for given, said in (
        ({"entrypoint": "ls -l"}, "entrypoint: expected array or null, but got string"),
        ({"entrypoint": []}, "entrypoint: must not be empty: name the command to run"),
        ({"entrypoint": ["a", 1]}, "entrypoint[1]: expected string or null, but got integer"),
    ):
        assert problems(kind, given) == [said]


def test_a_generic_task_needs_an_entrypoint_and_a_command_does_not() -> None:
    missing = "entrypoint: is missing: name the command to run, as a list"
    assert problems("generic", {"entrypoint": None}) == [missing]
    assert build("command", {"entrypoint": None}).typed.entrypoint == ()


def test_a_template_of_other_tasks_keys_serves_every_kind_without_warnings() -> None:
    template = {
        "entrypoint": ["python3", "train.py"],
        "searcher": {"name": "single"},
        "idle_timeout": "1h",
        "resources": {"slots": 2, "slots_per_trial": 8, "agent_label": "old"},
    }
    check_template(template)
    for kind, slots in (("command", 2), ("notebook", 2), ("shell", 2), ("tensorboard", 0)):
        built = build_task(
            kind,  # type: ignore[arg-type]  # one of the literals
            {},
            layers=layers(template=template),
            options=TaskOptions(name="n"),
        )
        assert (built.typed.slots, built.warnings) == (slots, ())
        assert built.typed.entrypoint == (("python3", "train.py") if kind == "command" else ())


def test_an_experiment_s_entrypoint_in_a_template_does_not_stop_tasks_that_run_another() -> None:
    low = layers(template={"entrypoint": "python3 train.py"})
    for kind, user in (("notebook", {}), ("shell", {}), ("command", {"entrypoint": ["ls"]})):
        built = build_task(kind, user, layers=low, options=TaskOptions(name="n"))  # type: ignore[arg-type]  # one of the literals
        assert built.typed.entrypoint == tuple(user.get("entrypoint", ()))


def test_a_mistake_in_a_template_is_found_when_it_is_stored() -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_template({"entrypint": "x", "resources": {"slot": 1, "slots": "two"}})
    for part in (
        '<template>: additionalProperties "entrypint" not allowed; did you mean "entrypoint"?',
        '<template>.resources: additionalProperties "slot" not allowed',
        "<template>.resources.slots: expected integer or null, but got string",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize("kind", ["notebook", "shell", "tensorboard"])
def test_other_tasks_have_a_command_of_their_own(kind: str) -> None:
    assert build(kind).typed.entrypoint == ()
    [warning] = build(kind, {"entrypoint": ["x"]}).warnings
    assert "has no effect" in warning


@covers("experiment-config 22.bind_mounts 23.sections")
@each_kind
def test_mounts_are_added_where_their_place_is_free(kind: str) -> None:
    low = [
        {"host_path": "/low", "container_path": "a"},
        {"host_path": "/low", "container_path": "b"},
    ]
    cluster = layers(task_container_defaults={"bind_mounts": low})
    high = [{"host_path": "/high", "container_path": "a", "read_only": True}]
    mounts = build(kind, {"bind_mounts": high}, cluster=cluster).config["bind_mounts"]
    assert [(m["host_path"], m["container_path"], m["read_only"]) for m in mounts] == [
        ("/high", "a", True),
        ("/low", "b", False),
    ]
    assert {m["propagation"] for m in mounts} == {"rprivate"}
    wrong = [{"host_path": "low", "container_path": "."}]
    assert problems(kind, {"bind_mounts": wrong}) == [
        'bind_mounts[0].container_path: must not be ".", the work directory itself',
        'bind_mounts[0].host_path: must be an absolute path but found "low"',
    ]


@covers("experiment-config 22.environment 23.sections")
@each_kind
def test_the_environment_is_that_of_experiments(kind: str) -> None:
    cluster = layers(
        task_container_defaults={
            "image": {"cpu": "low"},
            "environment_variables": ["A=low"],
            "add_capabilities": ["SYS_TIME"],
            "force_pull_image": True,
            "cpu_pod_spec": {"spec": {"cpu": 1}},
            "gpu_pod_spec": {"spec": {"gpu": 1}},
        }
    )
    given = {
        "environment": {
            "environment_variables": {"cuda": ["A=high"]},
            "image": {"gpu": "mine"},
            "proxy_ports": [{"proxy_port": 8000}],
            "drop_capabilities": ["CHOWN"],
            "registry_auth": {"username": "u", "serveraddress": "r"},
            "ports": {"x": 1},
        },
        "resources": {"slots": 0},
    }
    found = environment_of(build(kind, given, cluster=cluster))
    assert found["image"] == {**DEFAULT_IMAGES, "cpu": "low", "cuda": "mine"}
    assert found["environment_variables"] == {
        "cpu": ["A=low"],
        "cuda": ["A=low", "A=high"],
        "rocm": ["A=low"],
    }
    assert (found["add_capabilities"], found["drop_capabilities"]) == (["SYS_TIME"], ["CHOWN"])
    assert found["force_pull_image"] is True
    assert found["pod_spec"] == {"spec": {"cpu": 1}}
    assert found["proxy_ports"][0]["proxy_tcp"] is False
    assert found["ports"] == {"x": 1}
    assert found["registry_auth"] == {"username": "u", "serveraddress": "r"}
    assert environment_of(build(kind))["image"] == DEFAULT_IMAGES
    wrong = {"environment": {"environment_variables": ["=x"]}}
    assert "lacks a name" in problems(kind, wrong)[0]


@covers("experiment-config 26.job_registry_key")
@each_kind
def test_the_registrys_address_is_called_serveraddress_as_in_experiments(kind: str) -> None:
    auth = {"username": "u", "serveraddress": "registry.example.org"}
    given = {"environment": {"registry_auth": auth}}
    assert environment_of(build(kind, given))["registry_auth"] == auth
    documented = {"environment": {"registry_auth": {"username": "u", "server": "r"}}}
    [said] = problems(kind, documented)
    assert 'additionalProperties "server" not allowed' in said


@covers("experiment-config 22.resources.slots 23.resources")
@pytest.mark.parametrize("kind", WITH_SLOTS)
def test_a_task_has_one_slot_unless_it_says(kind: str) -> None:
    assert build(kind).typed.slots == 1
    assert build(kind, {"resources": {"slots": 0}}).typed.slots == 0
    assert problems(kind, {"resources": {"slots": -1}}) == [
        "resources.slots: must be >= 0 but found -1"
    ]


@covers("experiment-config 22.resources.slots")
def test_tensorboards_never_have_slots() -> None:
    built = build("tensorboard", {"resources": {"slots": 2}})
    assert built.typed.slots == 0
    assert any("TensorBoards have no slots" in w for w in built.warnings)


@covers("experiment-config 22.resources.max_slots 22.resources.weight 23.sections")
@each_kind
def test_limits_and_weights_have_defaults(kind: str) -> None:
    typed = build(kind).typed
    assert (typed.max_slots, typed.weight) == (None, 1)
    said = build(kind, {"resources": {"max_slots": 4, "weight": 2.5}}).typed
    assert (said.max_slots, said.weight) == (4, 2.5)
    wrong = {"resources": {"max_slots": -1, "weight": 0}}
    assert [p.split(":")[0] for p in problems(kind, wrong)] == [
        "resources.max_slots",
        "resources.weight",
    ]


@covers("experiment-config 22.resources.resource_pool 23.sections")
@pytest.mark.parametrize("kind", WITH_SLOTS)
def test_the_pool_follows_from_the_slots_unless_it_is_named(kind: str) -> None:
    assert build(kind).typed.resource_pool == "compute"
    assert build(kind, {"resources": {"slots": 0}}).typed.resource_pool == "aux"
    named = {"resources": {"slots": 1, "resource_pool": "aux"}}
    assert build(kind, named).typed.resource_pool == "aux"
    [said] = problems(kind, {"resources": {"resource_pool": "gone"}})
    assert "resource pool gone does not exist" in said


@covers("experiment-config 22.resources.resource_pool")
def test_a_tensorboard_goes_to_the_pool_of_tasks_without_slots() -> None:
    assert build("tensorboard").typed.resource_pool == "aux"


@covers("experiment-config 22.resources.priority 23.sections")
@each_kind
def test_the_priority_is_the_pools_unless_it_is_said(kind: str) -> None:
    in_aux = {"resources": {"resource_pool": "aux"}}
    assert build(kind, in_aux).typed.priority == 50
    in_compute = {"resources": {"resource_pool": "compute"}}
    assert build(kind, in_compute).typed.priority == 42
    assert build(kind, {"resources": {"priority": 7}}).typed.priority == 7
    assert problems(kind, {"resources": {"priority": 100}}) == [
        "resources.priority: must be <= 99 but found 100"
    ]


@covers("experiment-config 22.resources.shm_size 22.resources.devices 23.sections")
@each_kind
def test_shared_memory_and_devices_are_as_in_experiments(kind: str) -> None:
    cluster = layers(
        task_container_defaults={
            "shm_size_bytes": "1g",
            "devices": ["/dev/a:/dev/a", "/dev/b:/dev/b"],
        }
    )
    low = build(kind, cluster=cluster).config["resources"]
    assert low["shm_size"] == 1024**3
    given = {"resources": {"shm_size": "64m", "devices": ["/dev/c:/dev/a:r"]}}
    high = build(kind, given, cluster=cluster).config["resources"]
    assert high["shm_size"] == 64 * 1024**2
    found = [(d["host_path"], d["container_path"], d["mode"]) for d in high["devices"]]
    assert found == [("/dev/c", "/dev/a", "r"), ("/dev/b", "/dev/b", "mrw")]
    wrong = {"resources": {"shm_size": "4x", "devices": ["a"]}}
    assert len(problems(kind, wrong)) == 2


@covers("experiment-config 22.resources.native_parallel")
@each_kind
def test_native_parallel_is_read_and_changes_nothing(kind: str) -> None:
    built = build(kind, {"resources": {"native_parallel": True}})
    assert built.typed == build(kind).typed
    assert built.warnings == ("<config>.resources.native_parallel: has no effect any more",)


@covers("experiment-config 22.slurm 22.debug 23.sections")
@each_kind
def test_debug_and_options_of_launchers_are_as_in_experiments(kind: str) -> None:
    cluster = layers(task_container_defaults={"slurm": {"sbatch_args": ["--low"]}})
    built = build(kind, {"slurm": {"sbatch_args": ["--high"]}}, cluster=cluster)
    assert built.config["slurm"]["sbatch_args"] == ["--low", "--high"]
    assert build(kind).config["debug"] is False
    assert build(kind, {"debug": True}).config["debug"] is True
    assert problems(kind, {"slurm": {"sbatch_args": ["--nodes=2"]}})
    assert problems(kind, {"debug": 3}) == ["debug: expected boolean or null, but got integer"]


@covers("experiment-config 22.work_dir 23.sections")
@each_kind
def test_the_work_directory_knows_two_variables_and_no_files_beside_it(kind: str) -> None:
    typed = build(kind, {"work_dir": "/home/$AGENT_USER/of/$DET_USER"}).typed
    whom = {"agent_user": "ann", "username": "bob"}
    assert work_directory(typed, "/run/x", **whom) == "/home/ann/of/bob"
    assert work_directory(build(kind).typed, "/run/x", **whom) == "/run/x"
    cluster = layers(task_container_defaults={"work_dir": "/srv/$DET_USER"})
    of_cluster = build(kind, cluster=cluster, has_files=True).typed
    assert work_directory(of_cluster, "/run/x", **whom) == "/srv/bob"
    assert problems(kind, {"work_dir": "/x"}, has_files=True) == [
        "work_dir: cannot be set together with a directory of files: leave one of them out"
    ]


@covers("experiment-config 23.sections")
@each_kind
def test_unknown_keys_are_named_with_what_is_near(kind: str) -> None:
    found = problems(kind, {"enviroment": {}, "resources": {"slots_per_trial": 1}})
    assert found == [
        '<config>: additionalProperties "enviroment" not allowed; did you mean "environment"?',
        'resources: additionalProperties "slots_per_trial" not allowed',
    ]


@each_kind
def test_tasks_are_held_to_their_policies(kind: str) -> None:
    limits = Policy(scope="the cluster", max_slots=1, priority_limit=40)
    held = layers(policies=Policies(levels=(limits,), workload="NTSC"))
    assert build(kind, {"resources": {"slots": 1, "priority": 40}}, cluster=held)
    with pytest.raises(InvalidArgument) as caught:
        build(kind, {"resources": {"slots": 1, "max_slots": 2, "priority": 1}}, cluster=held)
    said = str(caught.value)
    assert said.startswith("failed constraint check: resource constraint: ")
    assert "priority constraint: " in said
    assert "`det config-policies describe tasks`" in said


# Layers, and generic tasks.


@covers("experiment-config 20.decoding")
@each_kind
def test_a_template_lies_below_what_a_user_says_and_above_the_cluster(kind: str) -> None:
    cluster = layers(
        template={"work_dir": "/t", "debug": True, "resources": {"weight": 3, "priority": 9}},
        task_container_defaults={"work_dir": "/low"},
    )
    built = build(kind, {"resources": {"weight": 2}}, cluster=cluster)
    assert (built.config["work_dir"], built.config["debug"]) == ("/t", True)
    assert (built.typed.weight, built.typed.priority) == (2, 9)
    strange = layers(template={"surprise": 1})
    with pytest.raises(TaskErrors) as caught:
        build(kind, cluster=strange)
    assert '<template>: additionalProperties "surprise" not allowed' in str(caught.value)


@each_kind
def test_the_stored_form_is_read_as_it_was_built(kind: str) -> None:
    built = build(kind, idle_timeout=timedelta(minutes=5))
    assert typed_task(built.config) == built.typed


@each_kind
@pytest.mark.parametrize("given", [[], "x", 3])
def test_an_invalid_configuration_is_reported(kind: Any, given: Any) -> None:
    with pytest.raises(TaskErrors, match=rf"^invalid {kind} (?s:.*)<config>: expected object"):
        build_task(kind, given, layers=layers(), options=TaskOptions(name="x"))
