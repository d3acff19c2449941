"""Pods and their labels are those that scripts of 0.38.1 look for."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.backends.kubernetes.objects import (
    ALLOCATION,
    CLUSTER_ID,
    CONTAINER,
    built,
    main_of,
    options,
    order,
    spec,
)
from tests.backends.kubernetes.test_manifest import variables
from tests.covers import covers

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.objects import build
from determined_master.backends.kubernetes.manifest.pod import Extras
from determined_master.backends.kubernetes.options import MasterAddress
from determined_master.domain.task.containers import SHARED_FS_DIR, typed_containers
from determined_master.ports.orders import PodTerms
from determined_master.services.containers.options import mounts
from determined_wire.agent_link import TaskUser

R = "helm-and-kubernetes"
Json = dict[str, Any]


def of_user(**pod_spec: Any) -> PodTerms:
    return PodTerms(pool="default", pod_spec={"spec": pod_spec})


def in_main(**fields: Any) -> PodTerms:
    return of_user(containers=[{"name": names.MAIN, **fields}])


@covers(f"{R} 7.allocation 7.task 7.extras 7.queue_position")
def test_labels_are_those_of_the_reference_where_they_are_known() -> None:
    terms = PodTerms(pool="p", username="ann", workspace="w", experiment_id="7", trial_id="8")
    assert built(pod=terms).pod["metadata"]["labels"] == {
        "determined": ALLOCATION,
        "determined.ai/allocation_id": ALLOCATION,
        "determined.ai/task_id": ALLOCATION.rpartition(".")[0],
        "determined.ai/task_type": "TRIAL",
        "determined.ai/container_id": CONTAINER,
        "determined.ai/user": "ann",
        "determined.ai/workspace": "w",
        "determined.ai/resource_pool": "p",
        "determined.ai/experiment_id": "7",
        "determined.ai/trial_id": "8",
        "determined.ai/cluster_id": CLUSTER_ID,
    }
    fewer = built(pod=PodTerms(pool="p")).pod["metadata"]["labels"]
    assert not {"determined.ai/experiment_id", "determined.ai/trial_id"} & fewer.keys()


@covers(f"{R} 8.restart 7.pods")
def test_kubernetes_starts_no_container_again() -> None:
    asked = of_user(restartPolicy="Always", activeDeadlineSeconds=5, nodeName="x")
    made = built(pod=asked).pod
    assert (made["kind"], made["spec"]["restartPolicy"]) == ("Pod", "Never")
    assert not {"activeDeadlineSeconds", "nodeName"} & made["spec"].keys()


@covers(f"{R} 8.main")
def test_the_tasks_container_is_the_last_and_names_its_ports() -> None:
    made = built(spec=spec(work_dir="/work", ports=(1734, 8888)), pod=of_user(containers=[SIDE]))
    main = made.pod["spec"]["containers"][-1]
    assert main["name"] == "determined-container"
    assert main["workingDir"] == "/work"
    assert [port["containerPort"] for port in main["ports"]] == [1734, 8888]


SIDE: Json = {"name": "side", "image": "s"}


@covers(f"{R} 8.pull")
@pytest.mark.parametrize(("is_forced", "policy"), [(True, "Always"), (False, "IfNotPresent")])
def test_images_are_pulled_as_the_configuration_says(is_forced: bool, policy: str) -> None:
    made = built(spec=spec(force_pull_image=is_forced), pod=in_main(imagePullPolicy="Never")).pod
    assert main_of(made)["imagePullPolicy"] == policy


@covers(f"{R} 8.account 10.container")
def test_a_users_own_security_context_is_kept_but_for_the_account() -> None:
    given = {"runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    user = TaskUser("ann", 1001, "lab", 1002)
    main = main_of(built(spec=spec(user=user), pod=in_main(securityContext=given)).pod)
    assert main["securityContext"] == {**given, "runAsUser": 1001, "runAsGroup": 1002}


@covers(f"{R} 10.container")
@pytest.mark.parametrize("key", ["envFrom", "volumeDevices"])
def test_lists_of_a_users_container_are_in_ours(key: str) -> None:
    value = [{"name": "x", "secretRef": {"name": "y"}}]
    assert main_of(built(pod=in_main(**{key: value})).pod)[key] == value


@covers(f"{R} 10.fixed")
def test_a_users_pod_changes_nothing_that_the_platform_sets() -> None:
    usual = built()
    fixed = {
        "image": "evil:1",
        "command": ["evil"],
        "args": ["evil"],
        "ports": [{"containerPort": 1}],
        "livenessProbe": {"exec": {"command": ["evil"]}},
        "lifecycle": {"preStop": {"exec": {"command": ["evil"]}}},
        "workingDir": "/evil",
    }
    pod = {
        "metadata": {"name": "evil", "namespace": "evil"},
        "spec": {"hostNetwork": True, "containers": [{"name": names.MAIN, **fixed}]},
    }
    made = built(pod=PodTerms(pool="default", username="ann", workspace="The Lab!", pod_spec=pod))
    assert made.pod == usual.pod


@covers(f"{R} 8.variables 8.ranks")
def test_tasks_have_the_variables_of_the_reference() -> None:
    made = built(2, pod=PodTerms(pool="gpus", pods=3))
    assert {
        "DET_CLUSTER_ID": CLUSTER_ID,
        "DET_MASTER": "http://10.0.0.1:8080",
        "DET_MASTER_HOST": "10.0.0.1",
        "DET_MASTER_ADDR": "10.0.0.1",
        "DET_MASTER_PORT": "8080",
        "DET_SLOT_IDS": "[0,1]",
        "DET_KUBERNETES_JOB_PARALLELISM": "3",
        "DET_AGENT_ID": "node-a",
        "DET_K8S_RESOURCE_POOL": "gpus",
        "DET_RESOURCES_TYPE": "k8s-job",
        "DET_RENDEZVOUS": "master",
    }.items() <= variables(made).items()
    [ip] = [e for e in main_of(made.pod)["env"] if e["name"] == "DET_KUBERNETES_POD_IP"]
    assert ip["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    assert "DET_MASTER_CERT_NAME" not in variables(made)


@covers(f"{R} 8.certificate")
def test_the_name_in_the_masters_certificate_is_passed_on() -> None:
    address = MasterAddress(scheme="https", host="10.0.0.1", port=443, cert_name="det.example")
    found = variables(built(given=options(master=address)))
    assert found["DET_MASTER"] == "https://10.0.0.1:443"
    assert found["DET_MASTER_CERT_NAME"] == "det.example"


@covers(f"{R} 11.default 11.coscheduler")
@pytest.mark.parametrize(
    ("setting", "own", "used"),
    [
        ("", None, None),
        ("", "mine", "mine"),
        ("coscheduler", None, "coscheduler"),
        ("coscheduler", "default-scheduler", "default-scheduler"),
    ],
)
def test_the_scheduler_is_the_pods_then_the_clusters(
    setting: str, own: str | None, used: str | None
) -> None:
    given = options(default_scheduler=setting)
    made = built(1, given, pod=of_user(**({} if own is None else {"schedulerName": own})))
    assert made.pod["spec"].get("schedulerName") == used


@covers(f"{R} 11.no_class")
def test_a_pod_without_a_priority_class_is_made() -> None:
    made = build(order(), options(), Extras("print()", ""))
    assert "priorityClassName" not in made.pod["spec"]


@covers(f"{R} 14.grace")
def test_a_pod_has_15_seconds_between_signal_and_kill() -> None:
    made = built(pod=of_user(terminationGracePeriodSeconds=600))  # counts for trials alone
    assert made.pod["spec"]["terminationGracePeriodSeconds"] == 15


@covers(f"{R} 8.shared_fs")
def test_a_shared_storage_is_a_path_of_the_node() -> None:
    storage = {"type": "shared_fs", "host_path": "/nfs"}
    config = typed_containers({"checkpoint_storage": storage})
    made = built(spec=spec(mounts=tuple(mounts(config)))).pod
    [mount] = [m for m in main_of(made)["volumeMounts"] if m["mountPath"] == SHARED_FS_DIR]
    [volume] = [v for v in made["spec"]["volumes"] if v["name"] == mount["name"]]
    assert SHARED_FS_DIR == "/determined_shared_fs"
    assert volume["hostPath"] == {"path": "/nfs"}


@covers(f"{R} 8.size")
def test_files_beyond_the_limit_of_a_secret_are_refused_before_anything_is_made() -> None:
    text = base64.b64encode(bytes(range(256)) * 4096).decode()
    with pytest.raises(ValueError, match=r"1\.3 MiB of variables and files.* at most 1 MiB.*BIG"):
        built(spec=spec(environment={"SMALL": "x", "BIG": text}))
