"""What follows from settings of the Kubernetes resource manager, and their contradictions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.pods.devices.cel import NotUnderstood, selector
from determined_master.domain.pods.devices.claims import MAX_SLOTS
from determined_master.settings.kubernetes.names import is_dns_label, is_object_name
from determined_master.settings.kubernetes.resource_manager import KubernetesManager

_RESOURCE = re.compile(r"[a-z0-9][-a-z0-9.]*/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def resolve_kubernetes(
    manager: KubernetesManager, defaults: Mapping[str, Any] | None = None
) -> KubernetesManager:
    """Fill in values that follow from other settings.

    Args:
        manager: as submitted.
        defaults: the cluster's `task_container_defaults` where it is the only manager; then
            they may set the slots of a pod.
    """
    most = manager.max_slots_per_pod
    has_pools = not manager.no_default_resource_pools
    return msgspec.structs.replace(
        manager,
        cluster_name=manager.cluster_name or manager.name,
        max_slots_per_pod=_slots_per_pod(defaults) if most is None else most,
        slot_type="cuda" if manager.slot_type == "gpu" else manager.slot_type,
        default_aux_resource_pool=manager.default_aux_resource_pool if has_pools else "",
        default_compute_resource_pool=manager.default_compute_resource_pool if has_pools else "",
    )


def check_kubernetes(
    manager: KubernetesManager, at: str, report: ProblemReport, defaults: Mapping[str, Any] | None
) -> None:
    """Report unsupported and contradictory values.

    Args:
        manager: as submitted.
        at: its path, `root.resource_manager`.
        report: takes the problems.
        defaults: the cluster's `task_container_defaults` where it is the only manager.
    """
    _check_pods(manager, f"{at}.max_slots_per_pod", report, defaults)
    if manager.namespace:
        text = "was removed: use default_namespace, and bind workspaces to others"
        report.problem(f"{at}.namespace", text)
    if manager.default_scheduler == "preemption":
        text = (
            '"preemption" was removed: leave it empty, use "coscheduler", or give pods priority '
            "classes by a pod_spec"
        )
        report.problem(f"{at}.default_scheduler", text)
    requests = f"{at}.slot_resource_requests.cpu"
    has_cpus = manager.slot_resource_requests.cpu is not None or report.has_problem_at(requests)
    if manager.slot_type == "cpu" and not has_cpus:
        report.problem(requests, "must say how many CPUs a slot has: slot_type is cpu")
    if manager.gpu_resource and manager.slot_type == "cpu":
        report.problem(f"{at}.gpu_resource", "must be empty: slot_type is cpu, so slots are CPUs")
    elif manager.gpu_resource and not _RESOURCE.fullmatch(manager.gpu_resource):
        text = f"must be DOMAIN/NAME of a resource of nodes, but found {manager.gpu_resource!r}"
        report.problem(f"{at}.gpu_resource", text)
    _check_devices(manager, at, report)
    if bool(manager.determined_master_host) != bool(manager.determined_master_port):
        missing = "port" if manager.determined_master_host else "host"
        text = "host and port must both be set, or neither"
        report.problem(f"{at}.determined_master_{missing}", text)
    _check_names(manager, at, report)
    _check_gateway(manager, f"{at}.internal_task_gateway", report)
    if manager.leave_kubernetes_resources:
        report.warn(f"{at}.leave_kubernetes_resources", "has no effect any more: remove it")
    if manager.fluent is not None:
        report.warn(f"{at}.fluent", "has no effect any more: remove it")


def _check_names(manager: KubernetesManager, at: str, report: ProblemReport) -> None:
    for number, name in enumerate(manager.namespaces):
        if not is_dns_label(name):
            report.problem(f"{at}.namespaces[{number}]", f"{name!r} is no name of a namespace")
    for number, name in enumerate(manager.reserved_names):
        if not is_object_name(name):
            text = f"{name!r} is no name of an object of Kubernetes"
            report.problem(f"{at}.reserved_names[{number}]", text)


def _check_devices(manager: KubernetesManager, at: str, report: ProblemReport) -> None:
    if not manager.device_class:
        if manager.device_selector:
            report.problem(f"{at}.device_selector", "needs device_class: set it, or remove this")
        return
    where = f"{at}.device_class"
    if not is_object_name(manager.device_class):
        text = f"must be the name of a DeviceClass, but found {manager.device_class!r}"
        report.problem(where, text)
    excluded = {
        "slot_type": manager.slot_type == "cpu" and "cpu",
        "gpu_resource": manager.gpu_resource,
        "autoscaling.demand": manager.autoscaling.demand != "none" and manager.autoscaling.demand,
        "default_scheduler": manager.default_scheduler,
    }
    for key, value in excluded.items():
        if value:
            text = f"must be empty with {key} {value!r}: remove one of them"
            report.problem(where, text)
    if (manager.max_slots_per_pod or 0) > MAX_SLOTS:
        text = (
            f"must be at most {MAX_SLOTS} with device_class, as Kubernetes allocates no more "
            f"devices to a pod's claim, but found {manager.max_slots_per_pod}"
        )
        report.problem(f"{at}.max_slots_per_pod", text)
    if manager.device_selector:
        try:
            selector(manager.device_selector)
        except NotUnderstood as error:
            page = "docs/kubernetes-placement.md"
            text = f"{error}; {page} lists the part of CEL that the master evaluates"
            report.problem(f"{at}.device_selector", text)


def _check_pods(
    manager: KubernetesManager, at: str, report: ProblemReport, defaults: Mapping[str, Any] | None
) -> None:
    elsewhere = _slots_per_pod(defaults)
    if manager.max_slots_per_pod is None and elsewhere is None:
        if not report.has_problem_at(at):
            report.problem(at, "must say how many slots one pod may have; 0 for none")
    elif elsewhere is not None and manager.max_slots_per_pod not in (None, elsewhere):
        text = (
            f"is {manager.max_slots_per_pod}, and task_container_defaults.kubernetes."
            f"max_slots_per_pod is {elsewhere}: remove one of them"
        )
        report.problem(at, text)


def _check_gateway(manager: KubernetesManager, at: str, report: ProblemReport) -> None:
    gateway = manager.internal_task_gateway
    if gateway is None:
        return
    if manager.reach_tasks != "direct":
        text = f"must not be set with reach_tasks: {manager.reach_tasks}: remove one of them"
        report.problem(at, text)
    first, last = gateway.gateway_port_range_start, gateway.gateway_port_range_end
    if first >= last:
        text = f"must be < gateway_port_range_end ({last}) but found {first}"
        report.problem(f"{at}.gateway_port_range_start", text)


def _slots_per_pod(defaults: Mapping[str, Any] | None) -> int | None:
    section = (defaults or {}).get("kubernetes")
    value = section.get("max_slots_per_pod") if isinstance(section, Mapping) else None
    return value if isinstance(value, int) else None
