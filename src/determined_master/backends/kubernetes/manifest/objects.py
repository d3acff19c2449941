"""The objects of one container: its pod, and the Secrets that belong to the pod. PURE.

A container's variables and files are in a Secret of the pod's name, so that the pod shows no
token. Source: helm-and-kubernetes 7 to 11, task-contract 2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.devices import slots_claim
from determined_master.backends.kubernetes.manifest.files import root_files
from determined_master.backends.kubernetes.manifest.gateway import ports_note, routes_of
from determined_master.backends.kubernetes.manifest.handover import hand_over, pod_group
from determined_master.backends.kubernetes.manifest.layers import UserPod, split_user_pod
from determined_master.backends.kubernetes.manifest.limits import check_size
from determined_master.backends.kubernetes.manifest.placeholder import MUST_STAY
from determined_master.backends.kubernetes.manifest.pod import Extras, grace_of, pod_spec
from determined_master.backends.kubernetes.manifest.secrets import pull_secret_data, secret_data
from determined_master.backends.kubernetes.manifest.variables import environment, split
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.domain.task.pod_keys import camel
from determined_master.domain.task.pod_names import object_of_a_task, reserved_name
from determined_master.ports.orders import PodTerms, StartOrder
from determined_wire.agent_link import ContainerSpec

Json = dict[str, Any]

SAVE_MARGIN_S = 5
"""Between the signal to a trial's program and the kill, where its pod is evicted."""


class Objects(msgspec.Struct, frozen=True):
    """The objects created for one container."""

    name: str
    namespace: str
    pod: Json
    secret: Json
    pull_secret: Json | None = None
    """Of the image's registry."""
    claim: Json | None = None
    """Of the devices of its slots."""
    group: Json | None = None
    """The PodGroup of all pods of the allocation."""
    routes: tuple[Json, ...] = ()
    """The Services and TCPRoutes by which a Gateway leads to its ports."""

    def secrets_of(self, uid: str) -> list[Json]:
        """The Secrets as parts of the pod, in the order in which they are created.

        Kubernetes deletes them with the pod, so the master needs no right to list, read or delete
        Secrets. The pod pulls no image before it has the last one.
        """
        secrets = [one for one in (self.pull_secret, self.secret) if one is not None]
        return [self.owned(one, uid) for one in secrets]

    def owned(self, item: Json, uid: str) -> Json:
        """An object as a part of the pod."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": self.name, "uid": uid}
        return {**item, "metadata": {**item["metadata"], "ownerReferences": [owner]}}


def build(order: StartOrder, options: ClusterOptions, extras: Extras) -> Objects:
    """The pod and the Secrets of a container; always the same for the same container.

    Args:
        order: the container, its node and its specification.
        options: of the cluster.
        extras: further parts of the pod.

    Raises:
        ValueError: the specification cannot be carried out; the text has the reason.
    """
    spec, terms = order.spec, order.pod or PodTerms()
    _check_spec(spec)
    name = names.object_name(options.cluster_id, spec.description, order.container_id)
    namespace = terms.namespace or options.default_namespace
    _check_namespace(namespace, options)
    own = split_user_pod(terms.pod_spec)
    _check_names(terms, namespace, options)
    _check_account(own, namespace, options)
    variables = environment(order, options)
    if terms.trial_id:
        grace_s = grace_of(order, own.spec, extras.grace_s)
        variables["DET_EVICTION_SAVE_S"] = str(max(0, grace_s - SAVE_MARGIN_S))
    owned_by_root = root_files(spec)
    plain, hidden = split(variables, spec, own.main, owned_by_root)
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {**own.labels, **_labels(order, terms, options)},
    }
    annotations = {
        names.SLOT_IDS: names.slot_ids_text(order.slot_ids),
        names.NODE: order.agent_id,
    }
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "annotations": _annotations(own, extras, options) | annotations,
        },
        "spec": pod_spec(order, options, own, name, list(plain), owned_by_root, extras),
    }
    hand_over(pod, own, order, options)
    of_secret = {**metadata, "annotations": annotations}
    data = secret_data(plain, hidden, spec, owned_by_root, extras.prepare)
    check_size(data, variables, spec, owned_by_root)
    secret = _secret("Opaque", of_secret, data)
    return Objects(
        name,
        namespace,
        pod,
        secret,
        _with_pull_secret(pod["spec"], spec, of_secret),
        slots_claim(len(order.slot_ids), of_secret, options, extras.device_api),
        pod_group(order, namespace, options),
        routes_of(of_secret, extras.gateway_ports, options.gateway),
    )


def _check_namespace(namespace: str, options: ClusterOptions) -> None:
    if options.namespaces and namespace not in (options.default_namespace, *options.namespaces):
        raise ValueError(
            f"the master does not follow the namespace {namespace}: add it to "
            "resource_manager.namespaces, or bind the workspace to another one"
        )


def _annotations(own: UserPod, extras: Extras, options: ClusterOptions) -> dict[str, str]:
    """The user's annotations and those of the cluster's parts."""
    stays = options.autoscaling is not None and options.autoscaling.protects_tasks
    ports = ports_note(extras.gateway_ports, options.gateway)
    return {**(MUST_STAY if stays else {}), **own.annotations, **ports}


def _with_pull_secret(pod_spec: Json, spec: ContainerSpec, metadata: Json) -> Json | None:
    """The Secret by which a pod pulls its image, which the pod names then; None without one."""
    credentials = pull_secret_data(spec.registry_auth, spec.image)
    if credentials is None:
        return None
    name = names.pull_secret_name(metadata["name"])
    pod_spec["imagePullSecrets"] = [{"name": name}, *(pod_spec.get("imagePullSecrets") or [])]
    return _secret("kubernetes.io/dockerconfigjson", {**metadata, "name": name}, credentials)


def _secret(kind: str, metadata: Json, data: Mapping[str, str]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": kind,
        "data": dict(data),
    }


def _check_spec(spec: ContainerSpec) -> None:
    """Check that a pod can carry out a specification.

    Raises:
        ValueError: it cannot; the text has the remedy.
    """
    if not spec.image:
        raise ValueError(
            "the task names no image: set environment.image, or task_container_defaults.image "
            "for the whole cluster"
        )
    if spec.devices:
        raise ValueError(
            f"resources.devices ({spec.devices[0]}) is not possible in a pod: install a device "
            "plugin for it, and name its resource in environment.pod_spec"
        )


def _check_names(terms: PodTerms, namespace: str, options: ClusterOptions) -> None:
    """Check that a user's pod names no object of other tasks and of the platform.

    Raises:
        ValueError: it does; the text has the name.
    """
    own_spec = camel(terms.pod_spec or {})
    reserved = object_of_a_task(own_spec)
    if reserved:
        raise ValueError(f"the pod spec names {reserved}")
    place, _, account = options.own_account.partition("/")
    name = reserved_name(own_spec, options.reserved_names, account if place == namespace else "")
    if name:
        raise ValueError(
            f"the pod spec names {name}, which is kept for the master and its database: name an "
            "object of your own"
        )


def _check_account(own: UserPod, namespace: str, options: ClusterOptions) -> None:
    """Check that a user's pod does not act as the master.

    Raises:
        ValueError: it would.
    """
    account = own.spec.get("serviceAccountName") or own.spec.get("serviceAccount")
    if not options.own_account or f"{namespace}/{account or 'default'}" != options.own_account:
        return
    if account:
        raise ValueError(f"the pod spec names the master's own service account {account}")
    if own.spec.get("automountServiceAccountToken") or _projects_token(own):
        raise ValueError(
            "the pod spec asks for a token of the default service account, which is the master's "
            f"own: name another one, or give the master an account apart from {namespace}/default"
        )


def _projects_token(own: UserPod) -> bool:
    sources = [(volume.get("projected") or {}).get("sources") for volume in own.volumes]
    return "serviceAccountToken" in json.dumps(sources)


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
        names.USER: terms.username,
        f"{names.PREFIX}workspace": terms.workspace,
        f"{names.PREFIX}experiment_id": terms.experiment_id,
        f"{names.PREFIX}trial_id": terms.trial_id,
    }
    return {key: names.label_value(value) for key, value in values.items() if value}
