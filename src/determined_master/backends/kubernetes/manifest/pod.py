"""The specification of a container's pod: the user's own, and what the platform sets. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.devices import name_claim
from determined_master.backends.kubernetes.manifest.files import RUN_DIR, RootFile
from determined_master.backends.kubernetes.manifest.layers import UserPod, with_node, without_root
from determined_master.backends.kubernetes.manifest.secrets import secret_variable
from determined_master.backends.kubernetes.manifest.volumes import (
    HARNESS_DIR,
    ORDER_DIR,
    SPACE_DIR,
    mounts_of,
    needs_init,
    order_mount,
    volumes_of,
)
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.ports.orders import StartOrder
from determined_wire.agent_link import ContainerSpec

Json = dict[str, Any]

MAX_GRACE_S = 3600
"""A kill of a program that ignores its signal may take as long."""
NOTE = "/dev/termination-log"
"""Where the kubelet reads why a container has ended."""


class Extras(msgspec.Struct, frozen=True):
    """The parts of a pod that no order contains."""

    prepare: str
    """Source of the program that unpacks the files."""
    priority_class: str = ""
    grace_s: int = 15
    """Between the termination signal and the kill."""
    gateway_ports: Mapping[int, int] = {}
    """By port of the task: the port of the Gateway that leads to it."""
    device_api: str = ""
    """Version of `resource.k8s.io` that the cluster serves; empty where slots are no devices."""


def pod_spec(
    order: StartOrder,
    options: ClusterOptions,
    own: UserPod,
    secret: str,
    variables: list[str],
    owned_by_root: list[RootFile],
    extras: Extras,
) -> Json:
    """The specification of the pod.

    Args:
        order: the container.
        options: of the cluster.
        own: the user's pod.
        secret: name of the Secret with variables and files.
        variables: names of those that the pod names, in the Secret's order.
        owned_by_root: files of the Secret.
        extras: further parts of the pod.
    """
    spec = order.spec
    node = order.agent_id.removeprefix(options.node_prefix)
    env = [secret_variable(secret, n, name) for n, name in enumerate(variables)]
    has_init = needs_init(spec, own.main.get("volumeMounts") or [], owned_by_root)
    main = _main_container(order, options, own, env, owned_by_root, has_init=has_init)
    init = [_init_container(spec, options, own, main)] if has_init else []
    before = [*own.init_containers, *init]
    tolerations = [
        *(own.spec.get("tolerations") or []),
        *device_tolerations(len(order.slot_ids), options),
    ]
    merged = {
        **own.spec,
        **({"tolerations": tolerations} if tolerations else {}),
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": grace_of(order, own.spec, extras.grace_s),
        "hostNetwork": spec.network_mode == "host",
        "affinity": with_node(own.spec.get("affinity"), node),
        **({"initContainers": before} if before else {}),
        "containers": [*own.sidecars, main],
        "volumes": [*own.volumes, *volumes_of(spec, secret, owned_by_root, has_init=has_init)],
    }
    name_claim(merged, main, len(order.slot_ids), secret, options)
    if not spec.allow_root:
        without_root(merged, spec.user)
    merged.setdefault("enableServiceLinks", False)
    merged.setdefault("automountServiceAccountToken", False)
    if extras.priority_class:
        merged.setdefault("priorityClassName", extras.priority_class)
    if options.default_scheduler:
        merged.setdefault("schedulerName", options.default_scheduler)
    return merged


def _init_container(
    spec: ContainerSpec, options: ClusterOptions, own: UserPod, main: Json
) -> Json:
    """The container that writes the files of the task, with its image and account."""
    return {
        "name": names.INIT,
        "image": spec.image,
        "imagePullPolicy": main["imagePullPolicy"],
        "command": [_python(spec)],
        "args": _preparation(f"{SPACE_DIR}/run", f"{SPACE_DIR}/harness"),
        "env": main["env"],
        "envFrom": own.main.get("envFrom") or [],
        "resources": _without_devices(main["resources"], options),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [order_mount(), {"name": "det-space", "mountPath": SPACE_DIR}],
        "securityContext": main["securityContext"],
    }


def grace_of(order: StartOrder, spec: Json, least_s: int) -> int:
    """Seconds between the termination signal and the kill; a trial's pod spec may give more."""
    grace = spec.get("terminationGracePeriodSeconds")
    if order.pod is None or not order.pod.trial_id or not isinstance(grace, int):
        return least_s
    return min(max(least_s, grace), MAX_GRACE_S)


def device_tolerations(slots: int, options: ClusterOptions) -> list[Json]:
    """Nodes that keep other pods away by a taint named for their devices run pods with slots."""
    if not options.device_resource or not slots:
        return []
    return [{"key": options.device_resource, "operator": "Exists"}]


def _main_container(
    order: StartOrder,
    options: ClusterOptions,
    own: UserPod,
    env: list[Json],
    owned_by_root: list[RootFile],
    *,
    has_init: bool,
) -> Json:
    spec = order.spec
    command, directory = _command(spec, has_init=has_init)
    pod_ip = {"name": "DET_KUBERNETES_POD_IP"}
    pod_ip_source = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    security = {k: v for k, v in (own.main.get("securityContext") or {}).items()}
    security.update(runAsUser=spec.user.uid, runAsGroup=spec.user.gid)
    if spec.add_capabilities or spec.drop_capabilities:
        security["capabilities"] = _capabilities(security.get("capabilities") or {}, spec)
    return {
        **{key: own.main[key] for key in ("envFrom", "volumeDevices") if key in own.main},
        "name": names.MAIN,
        "image": spec.image,
        "imagePullPolicy": "Always" if spec.force_pull_image else "IfNotPresent",
        "command": command[:1],
        "args": [_literal(text) for text in command[1:]],
        "workingDir": directory,
        "env": [*(own.main.get("env") or []), *env, {**pod_ip, **pod_ip_source}],
        "ports": [{"containerPort": port, "protocol": "TCP"} for port in spec.ports],
        "resources": resources_of(len(order.slot_ids), options, own.main.get("resources") or {}),
        "securityContext": security,
        "volumeMounts": [
            *(own.main.get("volumeMounts") or []),
            *mounts_of(spec, owned_by_root, has_init=has_init),
        ],
    }


def _command(spec: ContainerSpec, *, has_init: bool) -> tuple[list[str], str]:
    """What the task's container runs, and where.

    It prepares its files itself unless an init container does. A directory that is not there yet
    would be made as root's, so a container without an init container enters it later.
    """
    workdir = f"{RUN_DIR}/workdir"
    directory = spec.work_dir or workdir
    if has_init:
        return list(spec.entrypoint), directory
    program = spec.entrypoint[1:] if spec.entrypoint[:2] == ("python3", "-m") else spec.entrypoint
    command = [_python(spec), *_preparation(RUN_DIR, HARNESS_DIR), directory, *program]
    return command, RUN_DIR if directory == workdir else directory


def _python(spec: ContainerSpec) -> str:
    return spec.environment.get("DET_PYTHON_EXECUTABLE") or "python3"


def _preparation(run: str, harness: str) -> list[str]:
    return [f"{ORDER_DIR}/prepare.py", ORDER_DIR, run, harness, NOTE]


def _capabilities(capabilities: Mapping[str, Any], spec: ContainerSpec) -> Json:
    """Those of the task and of its pod spec; Docker's prefix `CAP_` is not Kubernetes'."""
    changes = {"add": spec.add_capabilities, "drop": spec.drop_capabilities}
    merged = {
        part: [*(capabilities.get(part) or ()), *(name.removeprefix("CAP_") for name in more)]
        for part, more in changes.items()
    }
    return {part: list(dict.fromkeys(listed)) for part, listed in merged.items() if listed}


def _literal(text: str) -> str:
    """An argument without expansions by Kubernetes."""
    return text.replace("$(", "$$(")


def resources_of(slots: int, options: ClusterOptions, resources: Mapping[str, Any]) -> Json:
    """The devices of its slots; they override the user's."""
    ours: dict[str, str] = {}
    claims = list(resources.get("claims") or [])
    if slots and options.slot_type == "cpu":
        ours["cpu"] = f"{round(slots * options.cpu_per_slot * 1000)}m"
    elif slots and options.device_class:
        resources = _without_devices(dict(resources), options)
    elif slots:
        ours[options.device_resource] = str(slots)
    merged: Json = {
        part: {**(resources.get(part) or {}), **ours} for part in ("requests", "limits")
    }
    merged["claims"] = claims
    return {part: amounts for part, amounts in merged.items() if amounts}


def _without_devices(resources: Json, options: ClusterOptions) -> Json:
    """For the init container: only the task uses the slots' devices."""
    return {
        part: {
            k: v for k, v in (resources.get(part) or {}).items() if k != options.device_resource
        }
        for part in ("requests", "limits")
        if part in resources
    }
