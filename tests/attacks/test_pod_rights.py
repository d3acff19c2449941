"""Finding 11: a pod spec takes rights that the admin's limits do not name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.attacks.test_machine_parts import LIMITS, STORAGE, layers
from tests.backends.kubernetes.objects import built, main_of, spec
from tests.domain.config.builders import ConfigErrors, build

from determined_master.ports.orders import PodTerms
from determined_wire.agent_link import Mount, TaskUser

SLOTS: dict[str, Any] = {"slots_per_trial": 0}
Json = dict[str, Any]


def pod(**keys: Any) -> Json:
    return {"spec": keys}


def side(**keys: Any) -> Json:
    return pod(containers=[{"name": "x", "image": "x", **keys}])


def asking(pod_spec: Json) -> Json:
    return {"environment": {"pod_spec": pod_spec}, "resources": SLOTS}


PRIVILEGED = {"privileged": True}
CLAIM = {"spec": {"volumeName": "disk-of-the-machine", "accessModes": ["ReadWriteOnce"]}}
WAYS: dict[str, Json] = {
    "no seccomp": pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
    "own seccomp": pod(securityContext={
        "seccompProfile": {"type": "Localhost", "localhostProfile": "all.json"}}),
    "no seccomp of one": side(securityContext={"seccompProfile": {"type": "Unconfined"}}),
    "no apparmor": side(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
    "no apparmor, older": {"metadata": {"annotations": {
        "container.apparmor.security.beta.kubernetes.io/x": "unconfined"}}},
    "device of a runtime": {"metadata": {"annotations": {
        "io.kubernetes.cri-o.Devices": "/dev/sda"}}},
    "device by cdi": {"metadata": {"annotations": {"cdi.k8s.io/x": "vendor.com/disk=sda"}}},
    "selinux": pod(securityContext={"seLinuxOptions": {"type": "spc_t"}}),
    "proc": side(securityContext={"procMount": "Unmasked"}),
    "sysctls": pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
    "escalation": side(securityContext={"allowPrivilegeEscalation": True}),
    "escalation of an init container": pod(initContainers=[
        {"name": "x", "securityContext": {"allow_privilege_escalation": True}}]),
    "users of the machine": pod(hostUsers=True),
    "processes of the machine": pod(host_p_i_d=True),
    "windows": pod(securityContext={"windowsOptions": {"hostProcess": True}}),
    "windows of one": side(securityContext={"windows_options": {"host_process": True}}),
    "runtime": pod(runtimeClassName="bare"),
    "ephemeral containers": pod(ephemeralContainers=[{"name": "x", "image": "x"}]),
    "driver": pod(volumes=[{"name": "v", "csi": {"driver": "host.csi.example"}}]),
    "claim": pod(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": CLAIM}}]),
    "network disk": pod(volumes=[{"name": "v", "nfs": {"server": "s", "path": "/"}}]),
    "older driver": pod(volumes=[{"name": "v", "flexVolume": {"driver": "d"}}]),
    "path below an allowed one, which can be a link": pod(
        volumes=[{"name": "v", "hostPath": {"path": "/data/link"}}]),
    "port of the machine": side(ports=[{"containerPort": 1, "hostPort": 22}]),
    "request of the kubelet": side(livenessProbe={"httpGet": {"host": "10.0.0.1", "port": 1}}),
    "device plugin": side(resources={"limits": {"devices.example/disk": 1}}),
    "device plugin of the task": pod(containers=[
        {"name": "determined-container", "resources": {"limits": {"devices.example/disk": 1}}}]),
    "claims of devices": pod(resourceClaims=[{"name": "d", "resourceClaimName": "disk"}]),
    "group of root": pod(securityContext={"supplementalGroups": [0]}),
    "account of another": side(securityContext={"runAsUser": 1001}),
    "group of another": pod(securityContext={"fsGroup": 1001}),
    "a key of a later release": pod(rightsOfTheMachine="all"),
    "a key of a later release, in one": side(rightsOfTheMachine="all"),
    "two underscores": pod(containers=[
        {"name": "x", "image": "x", "security__context": PRIVILEGED}]),
    "an underscore at the end": pod(containers_=[
        {"name": "x", "image": "x", "securityContext": PRIVILEGED}]),
    "capitals": side(security_cONTEXT=PRIVILEGED),
    "the whole pod": {"spec_": {"hostPID": True}},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_pod_that_asks_for_more_than_the_limits_is_refused(way: str) -> None:
    assert build(layers(), **asking(WAYS[way])), "without limits, as in 0.38.1"
    with pytest.raises(ConfigErrors, match="not allowed"):
        build(layers(**LIMITS), **asking(WAYS[way]))


@pytest.mark.parametrize("key", ["allowed_host_paths", "allowed_devices", "allow_root"])
def test_every_limit_forbids_a_privileged_container(key: str) -> None:
    asked = asking(side(securityContext=PRIVILEGED))
    with pytest.raises(ConfigErrors, match="privileged is not allowed"):
        build(layers(**{key: LIMITS[key]}), **asked)


def test_a_key_is_not_spelled_in_two_ways() -> None:
    twice = pod(securityContext={}, security_context=PRIVILEGED)
    with pytest.raises(ConfigErrors, match="securityContext is given twice"):
        build(layers(), **asking(twice))


@pytest.mark.parametrize(
    "asked",
    [
        pod(runtimeClassName=None),
        pod(security_context={"seccomp_profile": None}),
        {"spec": None},
        {"spec_": {"run_time": 1, "runtimeClassName": None}},
    ],
)
def test_null_does_not_remove_a_part_of_the_admins_pod(asked: Json) -> None:
    profile = {"type": "RuntimeDefault"}
    given = pod(runtimeClassName="gvisor", securityContext={"seccompProfile": profile})
    found = build(layers(cpu_pod_spec=given), **asking(asked))
    spec_ = found.config["environment"]["pod_spec"]["spec"]
    assert spec_["runtimeClassName"] == "gvisor"
    assert spec_["securityContext"]["seccompProfile"] == profile


ADMINS = {
    "metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "rdma"}},
    "spec": {
        "runtimeClassName": "nvidia",
        "hostIPC": True,
        "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}},
        "volumes": [{"name": "team", "nfs": {"server": "files", "path": "/team"}}],
        "containers": [
            {"name": "determined-container", "resources": {"limits": {"rdma/hca": 1}}},
            {"name": "net", "image": "net", "ports": [{"containerPort": 1, "hostPort": 1}]},
        ],
    },
}
HARMLESS: Json = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}},
    "spec": {
        "nodeSelector": {"gpu_type": "a"},
        "tolerations": [{"key": "team", "operator": "Exists"}],
        "priorityClassName": "urgent",
        "serviceAccountName": "team",
        "hostUsers": False,
        "hostPID": False,
        "securityContext": {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
            "fsGroupChangePolicy": "OnRootMismatch",
        },
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "images"}},
            {"name": "b", "emptyDir": {"medium": "Memory"}},
            {"name": "c", "config_map": {"name": "c"}},
            {"name": "d", "hostPath": {"path": "/data/"}},
        ],
        "containers": [
            {
                "name": "determined-container",
                "env": [{"name": "A", "value": "b"}],
                "resources": {"limits": {"memory": "1Gi", "rdma/hca": 1}},
                "volumeMounts": [{"name": "d", "mountPath": "/data", "subPath": "link"}],
            },
            {
                "name": "x",
                "image": "x",
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
                },
            },
        ],
    },
}


def test_harmless_parts_and_those_of_the_admins_pod_are_accepted() -> None:
    asked = asking(HARMLESS)
    assert build(layers(**LIMITS, cpu_pod_spec=ADMINS), **asked)


def test_limits_of_storage_hold_also_for_volumes_alone() -> None:
    asked = asking(WAYS["network disk"])
    assert build(layers(allow_root=False), **asked)
    with pytest.raises(ConfigErrors, match="the volume nfs is not allowed"):
        build(layers(allowed_host_paths=["/data"]), **asked)


def test_no_container_of_a_pod_without_root_gains_rights() -> None:
    sidecars = [
        {"name": "x", "image": "x"},
        {"name": "net", "image": "net", "securityContext": {"privileged": True}},
    ]
    terms = PodTerms(pool="default", pod_spec=pod(containers=sidecars, initContainers=sidecars))
    user = TaskUser(user="ann", uid=1000, group="ann", gid=1001)
    made = built(spec=spec(allow_root=False, user=user), pod=terms).pod
    whole = made["spec"]["securityContext"]
    profile = {"type": "RuntimeDefault"}
    assert whole == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1001,
        "seccompProfile": profile,
    }
    given = [*made["spec"]["containers"], *made["spec"]["initContainers"]]
    for container in given:
        context = container["securityContext"]
        if container["name"] == "net":
            assert context == {"privileged": True}, "the admin's, which Kubernetes would refuse"
        else:
            assert context["allowPrivilegeEscalation"] is False
    assert "allowPrivilegeEscalation" not in main_of(built(pod=terms).pod)["securityContext"]


def test_a_link_below_an_allowed_directory_does_not_lead_out_of_it() -> None:
    """The kubelet follows links in `hostPath`, and none in `subPath`."""
    mounts = (Mount("/data/team/x", "/x"), Mount("/data", "/all"))
    made = built(spec=spec(mounts=mounts, host_roots=("/data", "/data/team/y"))).pod
    volumes = [v["hostPath"]["path"] for v in made["spec"]["volumes"] if "hostPath" in v]
    assert volumes == ["/data", "/data"]
    found = [m for m in main_of(made)["volumeMounts"] if m["name"].startswith("det-host")]
    assert [m.get("subPath") for m in found] == ["team/x", None]
    free = built(spec=spec(mounts=mounts)).pod["spec"]["volumes"]
    assert {"path": "/data/team/x"} in [v.get("hostPath") for v in free]


def test_the_storage_of_the_settings_needs_no_permission() -> None:
    assert build(layers(**LIMITS), checkpoint_storage=STORAGE)
