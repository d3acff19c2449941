"""Pods and Secrets of containers."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import CONTAINER, built, main_of, options, order, spec
from tests.covers import covers

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.placeholder import placeholder
from determined_master.backends.kubernetes.manifest.provisioning import provisioning
from determined_master.backends.kubernetes.options import Autoscaling, Handover, PoolPods
from determined_master.domain.pods.needs import needs_of
from determined_master.domain.pods.placement import ClusterLoads
from determined_master.domain.schedule.placing.pods_view import uses_of
from determined_master.domain.task.containers import typed_containers
from determined_master.domain.task.pod_names import object_of_a_task
from determined_master.ports.kubernetes import NodeRequest
from determined_master.ports.orders import PodTerms
from determined_master.services.containers.pod_terms import secrets_of_pod
from determined_wire.agent_link import File, Mount, RegistryAuth, TaskUser


def variables(made: Any) -> dict[str, str]:
    """What the container will find, read back through the Secret."""
    found = {}
    [order_volume] = [v for v in made.pod["spec"]["volumes"] if v["name"] == "det-order"]
    if "variables.json" in {item["key"] for item in order_volume["secret"]["items"]}:
        found.update(json.loads(base64.b64decode(made.secret["data"]["variables.json"])))
    for entry in main_of(made.pod)["env"]:
        source = (entry.get("valueFrom") or {}).get("secretKeyRef")
        if source:
            assert source["name"] == made.secret["metadata"]["name"]
            found[entry["name"]] = base64.b64decode(made.secret["data"][source["key"]]).decode()
    return found


ANN = TaskUser("ann", 1001, "lab", 1002)
KEY = File("/run/determined/ssh/id_rsa", b"key", 0o600)


def test_no_secret_can_be_read_in_the_pod() -> None:
    made = built()
    assert "s3cret" not in json.dumps(made.pod)
    assert variables(made)["DET_SESSION_TOKEN"] == "s3cret"
    assert made.pod["spec"]["automountServiceAccountToken"] is False


def named(made: Any) -> set[str]:
    """The variables that the pod names."""
    return {entry["name"] for entry in main_of(made.pod)["env"]}


def test_the_pod_names_only_variables_that_have_an_effect_before_the_harness_starts() -> None:
    own = {"LD_LIBRARY_PATH": "/lib", "DET_SESSION_TOKEN": "s3cret", "DET_TRIAL_ID": "8"}
    made = built(spec=spec(environment=own))
    assert named(made) == {
        *("PYTHONUNBUFFERED", "PYTHONPATH", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"),
        *("DET_SESSION_TOKEN", "DET_KUBERNETES_POD_IP"),
    }
    assert {name: variables(made)[name] for name in own} == own


def test_other_accounts_of_the_container_cannot_read_tokens() -> None:
    names_ = ("DET_SESSION_TOKEN", "DET_USER_TOKEN", "DET_EXPERIMENT_CONFIG", "TOKEN_OF_THE_USER")
    made = built(spec=spec(environment=dict.fromkeys(names_, "s3cret"), user=ANN))
    assert "s3cret" not in base64.b64decode(made.secret["data"]["variables.json"]).decode()
    assert named(made) >= set(names_)


def test_the_file_does_not_replace_variables_that_kubernetes_fills_in() -> None:
    given = spec(environment={"DET_KUBERNETES_POD_IP": "mine", "DET_AGENT_ID": "mine"})
    pools = (PoolPods(name="default", handover=Handover(kind="kueue", queue_name="lab")),)
    made = built(given=options(pools=pools), spec=given, agent_id="queue:default")
    hidden = json.loads(base64.b64decode(made.secret["data"]["variables.json"]))
    assert not {"DET_KUBERNETES_POD_IP", "DET_AGENT_ID"} & hidden.keys()
    last = {entry["name"]: entry for entry in main_of(made.pod)["env"]}
    for name, path in (
        ("DET_KUBERNETES_POD_IP", "status.podIP"),
        ("DET_AGENT_ID", "spec.nodeName"),
    ):
        assert last[name]["valueFrom"] == {"fieldRef": {"fieldPath": path}}


def test_the_pod_names_the_variables_that_a_pod_spec_refers_to() -> None:
    mount = {"name": "data", "mountPath": "/data", "subPathExpr": "t/$(DET_TRIAL_ID)"}
    main = {"name": names.MAIN, "volumeMounts": [mount]}
    terms = PodTerms(pod_spec={"spec": {"containers": [main]}})
    given = spec(environment={"DET_TRIAL_ID": "8", "DET_TRIAL_SEED": "5"})
    made = built(spec=given, pod=terms)
    assert "DET_TRIAL_ID" in named(made)
    assert "DET_TRIAL_SEED" not in named(made)


def test_the_pod_names_all_variables_where_an_init_container_prepares_it() -> None:
    made = built(spec=spec(user=ANN, files=(KEY,)))
    assert {"DET_MASTER", "DET_SESSION_TOKEN", "DET_SLOT_IDS"} <= named(made)
    [init] = made.pod["spec"]["initContainers"]
    assert {entry["name"] for entry in init["env"]} >= {"DET_MASTER", "DET_SESSION_TOKEN"}


def test_values_are_taken_as_they_are() -> None:
    made = built(spec=spec(entrypoint=("sh", "-c", "echo $(hostname)")))
    assert variables(made)["MATH"] == "$(X)"
    assert main_of(made.pod)["args"][-3:] == ["sh", "-c", "echo $$(hostname)"]


def test_the_same_order_gives_the_same_objects() -> None:
    assert built() == built()


@covers("helm-and-kubernetes 7.name 7.allocation 7.owner 7.secret")
def test_a_pod_is_named_for_its_task_and_found_by_its_labels() -> None:
    made = built()
    assert made.name == "det-01234567-exp-7-trial-8-attempt-1-c0ffee001111"
    labels = made.pod["metadata"]["labels"]
    assert labels["determined.ai/container_id"] == CONTAINER
    assert labels["determined.ai/workspace"] == "The_Lab"
    assert labels["determined.ai/user"] == "ann"
    assert labels["determined"] == labels["determined.ai/allocation_id"] == order().allocation_id
    assert made.secret["metadata"]["labels"] == labels


@covers("helm-and-kubernetes 7.sanitised")
@pytest.mark.parametrize(
    ("text", "label"),
    [("a b", "a_b"), ("-x-", "x"), ("é" * 3, "invalid_value"), ("", ""), ("y" * 80, "y" * 63)],
)
def test_labels_are_made_of_what_kubernetes_takes(text: str, label: str) -> None:
    assert names.label_value(text) == label


@covers("helm-and-kubernetes 7.name")
def test_long_descriptions_still_give_names_that_are_host_names() -> None:
    found = names.object_name("0123456789", "Ümlaut_" + "x" * 90, CONTAINER)
    assert len(found) <= 63
    assert found.endswith("-c0ffee001111")
    assert found.strip("abcdefghijklmnopqrstuvwxyz0123456789-") == ""


@covers("helm-and-kubernetes 9.cuda 9.rocm 9.cpu 8.void")
@pytest.mark.parametrize(
    ("slot_type", "slots", "resources"),
    [
        ("cuda", 2, {"nvidia.com/gpu": "2"}),
        ("rocm", 1, {"amd.com/gpu": "1"}),
        ("cpu", 3, {"cpu": "1500m"}),
    ],
)
def test_slots_are_what_the_container_asks_for(
    slot_type: Any, slots: int, resources: dict[str, str]
) -> None:
    made = built(slots, options(slot_type=slot_type, cpu_per_slot=0.5))
    assert main_of(made.pod)["resources"] == {"requests": resources, "limits": resources}
    assert variables(made)["DET_SLOT_IDS"] == json.dumps(list(range(slots)), separators=(",", ":"))
    has_no_gpu = variables(made).get("NVIDIA_VISIBLE_DEVICES") == "void"
    assert has_no_gpu is (slot_type == "cpu")


@covers("helm-and-kubernetes 9.cuda 9.rocm 8.void")
def test_a_task_without_slots_asks_for_no_device() -> None:
    made = built(0, options(slot_type="cuda"))
    assert main_of(made.pod)["resources"] == {}
    assert variables(made)["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_the_init_container_takes_no_device_from_the_task() -> None:
    made = built(2, options(slot_type="cuda"), spec=spec(user=ANN, files=(KEY,)))
    [init] = made.pod["spec"]["initContainers"]
    assert init["name"] == names.INIT
    assert "nvidia.com/gpu" not in json.dumps(init["resources"])


@covers("helm-and-kubernetes 8.excluded")
def test_the_pod_goes_to_the_planned_node_and_keeps_the_users_wishes() -> None:
    rack = {"key": "rack", "operator": "In", "values": ["r1"]}
    disk = {"key": "disk", "operator": "Exists"}
    terms = [{"match_expressions": [rack]}, {"match_expressions": [disk]}]
    required = {
        "required_during_scheduling_ignored_during_execution": {"node_selector_terms": terms}
    }
    user = {"spec": {"affinity": {"node_affinity": required}, "tolerations": [{"key": "gpu"}]}}
    made = built(pod=PodTerms(pod_spec=user)).pod["spec"]
    found = made["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    here = [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]
    assert found["nodeSelectorTerms"] == [
        {"matchExpressions": [rack], "matchFields": here},
        {"matchExpressions": [disk], "matchFields": here},
    ]
    assert made["tolerations"] == [{"key": "gpu"}]


@covers("helm-and-kubernetes 7.own 8.init 8.sidecars 9.own 11.own_class")
def test_a_users_container_is_merged_into_ours_and_others_stay_beside_it() -> None:
    own = {
        "name": names.MAIN,
        "env": [{"name": "A", "value": "1"}],
        "volume_mounts": [{"name": "data", "mount_path": "/data"}],
        "resources": {"requests": {"memory": "2Gi", "cpu": "9"}},
    }
    user = {
        "metadata": {"labels": {"team_name": "x", "determined": "no"}},
        "spec": {
            "containers": [own, {"name": "side", "image": "s"}],
            "initContainers": [{"name": "first", "image": "i"}],
            "volumes": [{"name": "data", "hostPath": {"path": "/d"}}],
            "priorityClassName": "mine",
        },
    }
    made = built(pod=PodTerms(pod_spec=user)).pod
    main = main_of(made)
    assert main["env"][0] == {"name": "A", "value": "1"}
    assert {"name": "data", "mountPath": "/data"} in main["volumeMounts"]
    assert main["resources"]["requests"] == {"memory": "2Gi", "cpu": "1000m"}
    assert [c["name"] for c in made["spec"]["containers"]] == ["side", names.MAIN]
    assert [c["name"] for c in made["spec"]["initContainers"]] == ["first"]
    assert made["metadata"]["labels"]["team_name"] == "x"
    assert made["metadata"]["labels"]["determined"] == order().allocation_id
    assert made["spec"]["priorityClassName"] == "mine"


def test_priorities_become_classes_and_schedulers_are_named() -> None:
    made = built(1, options(default_scheduler="coscheduler")).pod["spec"]
    assert made["priorityClassName"] == "determined-priority-50"
    assert made["schedulerName"] == "coscheduler"


@covers("helm-and-kubernetes 8.mounts")
def test_mounts_propagate_as_docker_says_it() -> None:
    mounts = (
        Mount("/a", "/in/a", propagation="rshared"),
        Mount("/b", "rel", read_only=True, propagation="rslave"),
        Mount("/c", "/in/c"),
    )
    main = main_of(built(spec=spec(mounts=mounts)).pod)
    found = [m for m in main["volumeMounts"] if m["name"].startswith("det-host-volume-")]
    assert [(m["mountPath"], m["readOnly"], m.get("mountPropagation")) for m in found] == [
        ("/in/a", False, "Bidirectional"),
        ("/run/determined/workdir/rel", True, "HostToContainer"),
        ("/in/c", False, None),
    ]


@covers("helm-and-kubernetes 8.files 8.root_files 8.account")
def test_the_users_files_are_packed_and_roots_are_mounted() -> None:
    files = (
        File("/run/determined/ssh/id_rsa", b"key", 0o600),
        File("/etc/ssh/ssh_config", b"conf", 0o644, is_root_owned=True),
    )
    made = built(spec=spec(files=files, user=ANN))
    packed = base64.b64decode(made.secret["data"]["files.tar.gz"])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        modes = {m.name: oct(m.mode) for m in archive}
        key = archive.extractfile("./ssh/id_rsa")
        assert key is not None
        assert key.read() == b"key"
    assert modes["."] == modes["./ssh"] == modes["./workdir"] == "0o700"
    assert modes["./ssh/id_rsa"] == "0o600"
    main = main_of(made.pod)
    by_path = {m["mountPath"]: m for m in main["volumeMounts"]}
    mount = by_path["/etc/ssh/ssh_config"]
    assert base64.b64decode(made.secret["data"][mount["subPath"]]) == b"conf"
    assert by_path["/run/determined/etc"]["readOnly"]
    [etc] = [v for v in made.pod["spec"]["volumes"] if v["name"] == "root-volume"]
    places = {item["path"]: item["mode"] for item in etc["secret"]["items"]}
    assert places == {"passwd": 0o644, "shadow": 0o600, "group": 0o644}
    assert main["securityContext"] == {"runAsUser": 1001, "runAsGroup": 1002}


def test_the_tasks_container_prepares_its_files_and_runs_the_harness_in_one_process() -> None:
    made = built().pod["spec"]
    assert "initContainers" not in made
    [main] = made["containers"]
    assert main["command"] == ["python3"]
    assert main["args"] == [
        "/run/determined-order/prepare.py",
        "/run/determined-order",
        "/run/determined",
        "/opt/determined/harness",
        "/dev/termination-log",
        "/run/determined/workdir",
        *("-m", "determined.exec.entry", "trial"),
    ]
    # the runtime would make a missing working directory as root's
    assert main["workingDir"] == "/run/determined"
    assert main_of(built(spec=spec(work_dir="/home/ann")).pod)["workingDir"] == "/home/ann"


def test_a_given_python_prepares_the_files_and_runs_the_harness() -> None:
    given = spec(environment={"DET_PYTHON_EXECUTABLE": "/opt/py/bin/python"})
    assert main_of(built(spec=given).pod)["command"] == ["/opt/py/bin/python"]


@pytest.mark.parametrize(("uid", "mode"), [(0, 0o400), (1001, 0o444)])
def test_other_accounts_of_roots_container_cannot_read_the_files_of_the_secret(
    uid: int, mode: int
) -> None:
    made = built(spec=spec(user=TaskUser("ann", uid, "lab", uid))).pod["spec"]
    [order_volume] = [v for v in made["volumes"] if v["name"] == "det-order"]
    assert order_volume["secret"]["defaultMode"] == mode


def own_mount(path: str) -> PodTerms:
    main = {"name": names.MAIN, "volumeMounts": [{"name": "data", "mountPath": path}]}
    return PodTerms(pod_spec={"spec": {"containers": [main]}})


@pytest.mark.parametrize(
    ("user", "files", "path", "has_init"),
    [
        (ANN, (), "/data", False),
        (ANN, (), "/run/determined-order/x", False),
        (ANN, (), "/run/determined/workdir/data", True),
        (ANN, (), "/var/run//determined/workdir/data", True),
        (ANN, (KEY,), "/data", True),
        (TaskUser(), (KEY,), "/run/determined/workdir/data", False),
    ],
)
def test_an_init_container_prepares_what_only_root_could_close_in_the_container(
    user: TaskUser, files: tuple[File, ...], path: str, has_init: bool
) -> None:
    made = built(spec=spec(user=user, files=files), pod=own_mount(path))
    assert [c["name"] for c in made.pod["spec"].get("initContainers", ())] == (
        [names.INIT] if has_init else []
    )
    main = main_of(made.pod)
    assert (main["command"] + main["args"])[-3:] == ["-m", "determined.exec.entry", "trial"]
    assert ("/run/determined-order" in {m["mountPath"] for m in main["volumeMounts"]}) != has_init


def test_a_mount_of_the_machine_below_the_working_directory_needs_the_init_container() -> None:
    mounts = (Mount("/data", "data"),)
    assert "initContainers" in built(spec=spec(user=ANN, mounts=mounts)).pod["spec"]
    elsewhere = spec(user=ANN, mounts=mounts, work_dir="/home/ann")
    assert "initContainers" not in built(spec=elsewhere).pod["spec"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"image": ""}, "names no image"),
        ({"files": (File("/etc/x", b""),)}, "lies outside of /run/determined"),
        ({"files": (File("/run/determined/../x", b""),)}, "outside of its directory"),
    ],
)
def test_an_order_that_cannot_be_carried_out_is_named(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        built(spec=spec(**more))


@covers("helm-and-kubernetes 8.shm 8.host_network")
def test_shared_memory_is_bounded_and_the_host_network_is_asked_for() -> None:
    made = built(spec=spec(shm_size_bytes=1024, network_mode="host")).pod["spec"]
    shm = next(v for v in made["volumes"] if v["name"] == "det-shm-volume")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "1024"}
    assert made["hostNetwork"] is True


def test_a_pod_with_devices_tolerates_taints_named_for_them() -> None:
    own = {"spec": {"tolerations": [{"key": "team", "operator": "Exists"}]}}
    ours = {"key": "nvidia.com/gpu", "operator": "Exists"}
    gpus = options(slot_type="cuda")
    found = built(2, gpus, pod=PodTerms(pool="default", pod_spec=own)).pod["spec"]
    assert found["tolerations"] == [*own["spec"]["tolerations"], ours]
    assert built(1, gpus).pod["spec"]["tolerations"] == [ours]
    assert "tolerations" not in built(0, gpus).pod["spec"]
    assert "tolerations" not in built(1).pod["spec"]


@pytest.mark.parametrize(
    ("trial", "asked", "grace_s"),
    [
        ("8", None, 15),
        ("8", 120, 120),
        ("8", 3, 15),
        ("8", 10**6, 3600),
        ("", 120, 15),
    ],
)
def test_the_pod_spec_of_a_trial_may_give_it_more_time_to_save(
    trial: str, asked: Any, grace_s: int
) -> None:
    own = {} if asked is None else {"spec": {"terminationGracePeriodSeconds": asked}}
    made = built(pod=PodTerms(pool="default", trial_id=trial, pod_spec=own))
    assert made.pod["spec"]["terminationGracePeriodSeconds"] == grace_s
    save_s = variables(made).get("DET_EVICTION_SAVE_S")
    assert save_s == (str(grace_s - 5) if trial else None)


@covers("helm-and-kubernetes 10.registry_auth")
def test_credentials_of_the_images_registry_are_a_pull_secret_of_the_pod() -> None:
    auth = RegistryAuth("ann", "hunter2", "https://lab.example:5000/v2/")
    made = built(spec=spec(image="lab.example:5000/train:1", registry_auth=auth))
    assert made.pull_secret is not None
    name = made.pull_secret["metadata"]["name"]
    assert made.pod["spec"]["imagePullSecrets"] == [{"name": name}]
    assert made.pull_secret["type"] == "kubernetes.io/dockerconfigjson"
    text = base64.b64decode(made.pull_secret["data"][".dockerconfigjson"])
    [(registry, entry)] = json.loads(text)["auths"].items()
    assert registry == "lab.example:5000"
    assert base64.b64decode(entry["auth"]) == b"ann:hunter2"
    assert "hunter2" not in json.dumps(made.pod)
    first, second = made.secrets_of("u-1")
    assert (first["metadata"]["name"], second["metadata"]["name"]) == (name, made.name)
    assert {s["metadata"]["ownerReferences"][0]["uid"] for s in (first, second)} == {"u-1"}
    found = object_of_a_task({"imagePullSecrets": [{"name": name}]})
    assert found == f"{name}, which holds the secrets of another task"


@pytest.mark.parametrize(
    ("image", "server", "key"),
    [
        ("train:1", "", "https://index.docker.io/v1/"),
        ("lab/train", "docker.io", "https://index.docker.io/v1/"),
        ("localhost/train", "", "localhost"),
        ("10.0.0.1/a/b", "http://10.0.0.1", "10.0.0.1"),
        ("lab/train", "lab.example", None),
    ],
)
def test_credentials_serve_only_the_registry_that_they_are_for(
    image: str, server: str, key: str | None
) -> None:
    made = built(spec=spec(image=image, registry_auth=RegistryAuth("u", "p", server)))
    if key is None:
        assert made.pull_secret is None
        assert "imagePullSecrets" not in made.pod["spec"]
    else:
        assert made.pull_secret is not None
        text = base64.b64decode(made.pull_secret["data"][".dockerconfigjson"])
        assert list(json.loads(text)["auths"]) == [key]


@pytest.mark.parametrize("server", ["", "docker.io", "lab.example"])
def test_quotas_count_the_secrets_that_a_pod_has(server: str) -> None:
    auth = RegistryAuth("u", "p", server)
    made = built(spec=spec(image="lab/train", registry_auth=auth))
    containers = typed_containers(
        {
            "environment": {
                "image": {"cpu": "lab/train"},
                "registry_auth": {"username": "u", "password": "p", "serveraddress": server},
            }
        }
    )
    counted = secrets_of_pod(containers, "cpu")
    assert counted == len(made.secrets_of("u")) == (1 if server == "lab.example" else 2)
    uses = uses_of(needs_of(made.pod), 8, 4, ClusterLoads({}), counted)
    assert uses["secrets"] == uses["count/secrets"] == 2 * counted
    assert uses["pods"] == uses["count/pods"] == 2


def test_the_users_own_pull_secrets_stay() -> None:
    own = {"spec": {"imagePullSecrets": [{"name": "team"}]}}
    made = built(
        spec=spec(registry_auth=RegistryAuth("u", "p")), pod=PodTerms(pool="p", pod_spec=own)
    )
    assert [one["name"] for one in made.pod["spec"]["imagePullSecrets"]] == [
        f"{made.name}-pull",
        "team",
    ]


def test_a_placeholder_has_the_needs_of_a_waiting_pod_and_runs_nothing() -> None:
    own = {
        "spec": {
            "nodeSelector": {"gpu": "h100"},
            "tolerations": [{"key": "team"}],
            "serviceAccountName": "team",
            "containers": [
                {"name": names.MAIN, "resources": {"requests": {"memory": "2Gi"}}},
                {"name": "cache", "resources": {"requests": {"cpu": "1"}}, "image": "cache:1"},
            ],
        }
    }
    given = options(slot_type="cuda", autoscaling=Autoscaling(image="pause:1", max_pods=1))
    request = NodeRequest(allocation_id="7.x.1", slots=(4, 4), namespace="lab", pod_spec=own)
    made = placeholder(request, 1, given)
    assert made == placeholder(request, 1, given)
    assert made["metadata"]["name"] != placeholder(request, 0, given)["metadata"]["name"]
    assert made["metadata"]["namespace"] == "lab"
    spec_ = made["spec"]
    assert spec_["nodeSelector"] == {"gpu": "h100"}
    assert spec_["tolerations"] == [
        {"key": "team"},
        {"key": "nvidia.com/gpu", "operator": "Exists"},
    ]
    assert "serviceAccountName" not in spec_
    first, second = spec_["containers"]
    assert first["resources"]["requests"] == {"memory": "2Gi", "nvidia.com/gpu": "4"}
    assert second["resources"]["requests"] == {"cpu": "1"}
    assert {c["image"] for c in spec_["containers"]} == {"pause:1"}
    task = built(given=given).pod["metadata"]["annotations"]
    assert task["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    waits = made["metadata"]["annotations"]
    assert waits["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "true"


def test_a_request_for_nodes_has_a_template_for_each_size_of_pod() -> None:
    scaling = Autoscaling(
        demand="provisioning_request", image="pause:1", max_pods=9, class_name="queued"
    )
    given = options(slot_type="cuda", autoscaling=scaling)
    own = {"spec": {"nodeSelector": {"gpu": "h100"}}}
    request = NodeRequest(allocation_id="7.x.1", slots=(4, 4), namespace="lab", pod_spec=own)
    made = provisioning(request, 1, given)
    assert made == provisioning(request, 1, given)
    [template] = made.templates
    assert template["template"]["spec"]["nodeSelector"] == {"gpu": "h100"}
    assert "priorityClassName" not in template["template"]["spec"]
    name = template["metadata"]["name"]
    assert made.request["spec"] == {
        "provisioningClassName": "queued",
        "podSets": [{"podTemplateRef": {"name": name}, "count": 2}],
    }
    assert {o["metadata"]["namespace"] for o in (template, made.request)} == {"lab"}
    second = provisioning(request, 2, given)
    assert second.request["metadata"]["name"] != made.request["metadata"]["name"]
    assert second.key == made.key
    other = provisioning(replace(request, slots=(4, 2)), 1, given)
    assert other.key != made.key
    assert [s["count"] for s in other.request["spec"]["podSets"]] == [1, 1]


@covers("helm-and-kubernetes 10.capabilities")
def test_capabilities_are_added_to_those_of_the_pod_spec() -> None:
    given = {"capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}}
    own = {"spec": {"containers": [{"name": names.MAIN, "securityContext": given}]}}
    made = built(
        spec=spec(add_capabilities=("CAP_SYS_PTRACE", "NET_ADMIN"), drop_capabilities=("MKNOD",)),
        pod=PodTerms(pool="p", pod_spec=own),
    )
    assert main_of(made.pod)["securityContext"]["capabilities"] == {
        "add": ["NET_ADMIN", "SYS_PTRACE"],
        "drop": ["ALL", "MKNOD"],
    }


@covers("helm-and-kubernetes 10.devices")
def test_devices_are_refused_with_what_kubernetes_has_for_them() -> None:
    with pytest.raises(ValueError, match=r"resources\.devices .*/dev/kvm.* device plugin"):
        built(spec=spec(devices=("/dev/kvm:/dev/kvm:rwm",)))
