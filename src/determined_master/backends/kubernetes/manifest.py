"""The pod and the Secret of one container. PURE.

A container's variables and files are in a Secret of the pod's name. The pod refers to each
variable's key there, so that the pod shows no token and Kubernetes expands no `$(NAME)` in a
value. Source: helm-and-kubernetes 7 to 11, task-contract 2.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.files import (
    RUN_DIR,
    RootFile,
    root_files,
    user_archive,
)
from determined_master.backends.kubernetes.layers import (
    UserPod,
    host_path_of,
    split_user_pod,
    with_node,
    without_root,
)
from determined_master.backends.kubernetes.options import RESOURCE_OF, ClusterOptions
from determined_master.domain.config.sections.pod_spec import secret_of_a_task
from determined_master.ports import PodTerms, StartOrder
from determined_wire.agent_link import ContainerSpec, Mount

Json = dict[str, Any]

ORDER_DIR = "/run/determined-order"
SPACE_DIR = "/run/determined-space"
HARNESS_DIR = "/opt/determined/harness"
SHM_DIR = "/dev/shm"
_TRUST = f"{RUN_DIR}/etc/ssl/master.crt"
_FOLDERS = {"private": "None", "rslave": "HostToContainer", "rshared": "Bidirectional"}
"""Propagation of a mount: Docker's word and Kubernetes'; the node decides about others."""


class Objects(msgspec.Struct, frozen=True):
    """The objects created for one container."""

    name: str
    namespace: str
    pod: Json
    secret: Json

    def secret_of(self, uid: str) -> Json:
        """The Secret as a part of the pod: Kubernetes deletes it with the pod.

        So the master needs no right to list, read or delete Secrets.
        """
        owner = {"apiVersion": "v1", "kind": "Pod", "name": self.name, "uid": uid}
        meta = {**self.secret["metadata"], "ownerReferences": [owner]}
        return {**self.secret, "metadata": meta}


MAX_GRACE_S = 3600
"""A kill of a program that ignores its signal may take as long."""
SAVE_MARGIN_S = 5
"""Between the signal to a trial's program and the kill, where its pod is evicted."""


class Extras(msgspec.Struct, frozen=True):
    """The parts of a pod that no order contains."""

    prepare: str
    """Source of the program that unpacks the files."""
    priority_class: str = ""
    grace_s: int = 15
    """Between the termination signal and the kill."""


def build(order: StartOrder, options: ClusterOptions, extras: Extras) -> Objects:
    """The pod and the Secret of a container; always the same for the same container.

    Args:
        order: the container, its node and its specification.
        options: of the cluster.
        extras: further parts of the pod.

    Raises:
        ValueError: the specification cannot be carried out; the text has the reason.
    """
    spec, terms = order.spec, order.pod or PodTerms()
    if not spec.image:
        raise ValueError(
            "the task names no image: set environment.image, or task_container_defaults.image "
            "for the whole cluster"
        )
    name = names.object_name(options.cluster_id, spec.description, order.container_id)
    namespace = terms.namespace or options.default_namespace
    own = split_user_pod(terms.pod_spec)
    _check_own(own, namespace, options)
    variables = environment(order, options)
    if terms.trial_id:
        grace_s = grace_of(order, own.spec, extras.grace_s)
        variables["DET_EVICTION_SAVE_S"] = str(max(0, grace_s - SAVE_MARGIN_S))
    owned_by_root = root_files(spec)
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {**own.labels, **_labels(order, terms, options)},
    }
    annotations = {
        names.SLOT_IDS: names.slot_ids_text(order.slot_ids),
        names.NODE: order.agent_id,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "annotations": {**own.annotations, **annotations}},
        "spec": _pod_spec(order, options, own, name, list(variables), owned_by_root, extras),
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata, "annotations": annotations},
        "type": "Opaque",
        "data": _secret_data(variables, spec, owned_by_root, extras.prepare),
    }
    return Objects(name, namespace, pod, secret)


def _check_own(own: UserPod, namespace: str, options: ClusterOptions) -> None:
    """Check that a user's pod names none of the platform's Secrets, and not its account.

    Raises:
        ValueError: it does; the text has the name.
    """
    name = secret_of_a_task(msgspec.to_builtins(own))
    if name:
        raise ValueError(f"the pod spec names {name}, which holds the secrets of another task")
    account = own.spec.get("serviceAccountName") or own.spec.get("serviceAccount")
    if account and f"{namespace}/{account}" == options.own_account:
        raise ValueError(f"the pod spec names the master's own service account {account}")


def environment(order: StartOrder, options: ClusterOptions) -> dict[str, str]:
    """The container's variables, except those that Kubernetes fills in."""
    given, master = order.spec.environment, options.master
    terms = order.pod or PodTerms()
    search = f"{HARNESS_DIR}:{given['PYTHONPATH']}" if given.get("PYTHONPATH") else HARNESS_DIR
    variables = {
        "PYTHONUNBUFFERED": "1",
        **given,
        "DET_CLUSTER_ID": options.cluster_id,
        "DET_MASTER_ID": options.master_id,
        "DET_MASTER": master.url,
        "DET_MASTER_HOST": master.host,
        "DET_MASTER_ADDR": master.host,
        "DET_MASTER_PORT": str(master.port),
        "DET_AGENT_ID": order.agent_id,
        "DET_CONTAINER_ID": order.container_id,
        "DET_SLOT_IDS": json.dumps(list(range(len(order.slot_ids))), separators=(",", ":")),
        "DET_RESOURCES_TYPE": "k8s-job",
        "DET_RENDEZVOUS": "master",
        "DET_KUBERNETES_JOB_PARALLELISM": str(terms.pods),
        "DET_K8S_RESOURCE_POOL": terms.pool,
        "PYTHONPATH": search,
    }
    if order.slot_ids:
        variables["DET_SLOT_TYPE"] = options.slot_type
    if not order.slot_ids or options.slot_type == "cpu":
        variables["NVIDIA_VISIBLE_DEVICES"] = "void"
    if master.cert_name:
        variables["DET_MASTER_CERT_NAME"] = master.cert_name
    return variables


def _labels(order: StartOrder, terms: PodTerms, options: ClusterOptions) -> dict[str, str]:
    spec = order.spec
    values = {
        names.ALLOCATION: order.allocation_id,
        names.CLUSTER: options.cluster_id,
        names.ALLOCATION_ID: order.allocation_id,
        names.CONTAINER_ID: order.container_id,
        names.TASK_ID: spec.task_id,
        f"{names.PREFIX}task_type": spec.task_type,
        f"{names.PREFIX}resource_pool": terms.pool,
        f"{names.PREFIX}user": terms.username,
        f"{names.PREFIX}workspace": terms.workspace,
        f"{names.PREFIX}experiment_id": terms.experiment_id,
        f"{names.PREFIX}trial_id": terms.trial_id,
    }
    return {key: names.label_value(value) for key, value in values.items() if value}


def _pod_spec(
    order: StartOrder,
    options: ClusterOptions,
    own: UserPod,
    secret: str,
    variables: list[str],
    owned_by_root: list[RootFile],
    extras: Extras,
) -> Json:
    spec = order.spec
    node = order.agent_id.removeprefix(options.node_prefix)
    env = [_secret_variable(secret, n, name) for n, name in enumerate(variables)]
    main = _main_container(order, options, own, env, owned_by_root)
    init = {
        "name": names.INIT,
        "image": spec.image,
        "imagePullPolicy": main["imagePullPolicy"],
        "command": [spec.environment.get("DET_PYTHON_EXECUTABLE") or "python3"],
        "args": [f"{ORDER_DIR}/prepare.py", ORDER_DIR, SPACE_DIR],
        "env": main["env"],
        "envFrom": own.main.get("envFrom") or [],
        "resources": _without_devices(main["resources"]),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "det-order", "mountPath": ORDER_DIR, "readOnly": True},
            {"name": "det-space", "mountPath": SPACE_DIR},
        ],
        "securityContext": main["securityContext"],
    }
    tolerations = [*(own.spec.get("tolerations") or []), *_device_tolerations(order, options)]
    found = {
        **own.spec,
        **({"tolerations": tolerations} if tolerations else {}),
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": grace_of(order, own.spec, extras.grace_s),
        "hostNetwork": spec.network_mode == "host",
        "affinity": with_node(own.spec.get("affinity"), node),
        "initContainers": [*own.init_containers, init],
        "containers": [*own.sidecars, main],
        "volumes": [*own.volumes, *_volumes(spec, secret, owned_by_root)],
    }
    if not spec.allow_root:
        without_root(found, spec.user)
    found.setdefault("enableServiceLinks", False)
    found.setdefault("automountServiceAccountToken", False)
    if extras.priority_class:
        found.setdefault("priorityClassName", extras.priority_class)
    if options.default_scheduler:
        found.setdefault("schedulerName", options.default_scheduler)
    return found


def grace_of(order: StartOrder, spec: Json, least_s: int) -> int:
    """Seconds between the termination signal and the kill; a trial's pod spec may give more."""
    asked = spec.get("terminationGracePeriodSeconds")
    if order.pod is None or not order.pod.trial_id or not isinstance(asked, int):
        return least_s
    return min(max(least_s, asked), MAX_GRACE_S)


def _device_tolerations(order: StartOrder, options: ClusterOptions) -> list[Json]:
    """Nodes that keep other pods away by a taint named for their devices run pods with slots."""
    resource = RESOURCE_OF.get(options.slot_type)
    if resource is None or not order.slot_ids:
        return []
    return [{"key": resource, "operator": "Exists"}]


def _main_container(
    order: StartOrder,
    options: ClusterOptions,
    own: UserPod,
    env: list[Json],
    owned_by_root: list[RootFile],
) -> Json:
    spec = order.spec
    pod_ip = {"name": "DET_KUBERNETES_POD_IP"}
    pod_ip_source = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    security = {k: v for k, v in (own.main.get("securityContext") or {}).items()}
    security.update(runAsUser=spec.user.uid, runAsGroup=spec.user.gid)
    return {
        **{key: own.main[key] for key in ("envFrom", "volumeDevices") if key in own.main},
        "name": names.MAIN,
        "image": spec.image,
        "imagePullPolicy": "Always" if spec.force_pull_image else "IfNotPresent",
        "command": [spec.entrypoint[0]],
        "args": [_literal(text) for text in spec.entrypoint[1:]],
        "workingDir": spec.work_dir or f"{RUN_DIR}/workdir",
        "env": [*(own.main.get("env") or []), *env, {**pod_ip, **pod_ip_source}],
        "ports": [{"containerPort": port, "protocol": "TCP"} for port in spec.ports],
        "resources": _resources(order, options, own.main.get("resources") or {}),
        "securityContext": security,
        "volumeMounts": [*(own.main.get("volumeMounts") or []), *_mounts(spec, owned_by_root)],
    }


def _literal(text: str) -> str:
    """An argument without expansions by Kubernetes."""
    return text.replace("$(", "$$(")


def _secret_variable(secret: str, n: int, name: str) -> Json:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": f"env.{n}"}}}


def _secret_data(
    variables: Mapping[str, str], spec: ContainerSpec, owned_by_root: list[RootFile], prepare: str
) -> dict[str, str]:
    content = {f"env.{n}": value.encode() for n, value in enumerate(variables.values())}
    content["files.tar.gz"] = user_archive(spec)
    content["prepare.py"] = prepare.encode()
    for file in owned_by_root:
        content[file.key] = file.content
        if file.path == _TRUST:
            content["master.crt"] = file.content
    return {key: base64.b64encode(value).decode() for key, value in content.items()}


def _resources(order: StartOrder, options: ClusterOptions, given: Mapping[str, Any]) -> Json:
    """The devices of its slots; they override the user's."""
    slots = len(order.slot_ids)
    ours: dict[str, str] = {}
    if slots and options.slot_type == "cpu":
        ours["cpu"] = f"{round(slots * options.cpu_per_slot * 1000)}m"
    elif slots:
        ours[RESOURCE_OF[options.slot_type]] = str(slots)
    asked = {part: {**(given.get(part) or {}), **ours} for part in ("requests", "limits")}
    return {part: amounts for part, amounts in asked.items() if amounts}


def _without_devices(resources: Json) -> Json:
    """For the init container: only the task uses the slots' devices."""
    devices = set(RESOURCE_OF.values())
    return {
        part: {k: v for k, v in amounts.items() if k not in devices}
        for part, amounts in resources.items()
    }


def _volumes(spec: ContainerSpec, secret: str, owned_by_root: list[RootFile]) -> list[Json]:
    keys = ["files.tar.gz", "prepare.py"]
    keys += ["master.crt"] if any(f.path == _TRUST for f in owned_by_root) else []
    shm: Json = {"medium": "Memory"}
    if spec.shm_size_bytes:
        shm["sizeLimit"] = str(spec.shm_size_bytes)
    found: list[Json] = [
        {
            "name": "det-order",
            "secret": {
                "secretName": secret,
                "items": [{"key": key, "path": key} for key in keys],
            },
        },
        {"name": "det-space", "emptyDir": {}},
        {"name": "det-shm-volume", "emptyDir": shm},
    ]
    if owned_by_root:
        items = [{"key": f.key, "path": f.key, "mode": f.mode} for f in owned_by_root]
        found.append({"name": "root-volume", "secret": {"secretName": secret, "items": items}})
    found += [
        {"name": f"det-host-volume-{n}", "hostPath": {"path": host_path_of(mount, spec)[0]}}
        for n, mount in enumerate(spec.mounts)
    ]
    return found


def _mounts(spec: ContainerSpec, owned_by_root: list[RootFile]) -> list[Json]:
    found: list[Json] = [
        {"name": "det-space", "mountPath": RUN_DIR, "subPath": "run"},
        {"name": "det-space", "mountPath": HARNESS_DIR, "subPath": "harness", "readOnly": True},
        {"name": "det-shm-volume", "mountPath": SHM_DIR},
    ]
    found += [
        {"name": "root-volume", "mountPath": f.path, "subPath": f.key, "readOnly": True}
        for f in owned_by_root
    ]
    return found + [_host_mount(n, mount, spec) for n, mount in enumerate(spec.mounts)]


def _host_mount(n: int, mount: Mount, spec: ContainerSpec) -> Json:
    target = mount.container_path
    if not target.startswith("/"):
        target = f"{spec.work_dir or f'{RUN_DIR}/workdir'}/{target}"
    found: Json = {
        "name": f"det-host-volume-{n}",
        "mountPath": target,
        "readOnly": mount.read_only,
    }
    below = host_path_of(mount, spec)[1]
    if below:
        found["subPath"] = below
    if mount.propagation in _FOLDERS:
        found["mountPropagation"] = _FOLDERS[mount.propagation]
    return found
