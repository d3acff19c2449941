"""Settings of the Kubernetes resource manager, and their contradictions."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Integer, Number, ValueType
from determined_master.domain.pods.devices.cel import NotUnderstood, selector
from determined_master.domain.pods.devices.claims import MAX_SLOTS
from determined_master.settings.pools import AnyResourceManager, ResourcePool

Struct = msgspec.Struct

KUBERNETES_PRIORITY = 50
"""Of jobs in Kubernetes pools that set none; there a higher priority is ahead."""
MAX_LABEL = 63
MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_RESOURCE = re.compile(r"[a-z0-9][-a-z0-9.]*/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PORTS = Meta(ge=1025, le=65535)


class _Label(ValueType):
    """A name that Kubernetes accepts for namespaces and services."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not is_dns_label(value):
            report.problem(
                at,
                "must be a DNS label: at most 63 lower-case letters, digits and dashes, with a "
                f'letter or digit at both ends, but found "{value}"',
            )
            return None
        return value


class _Given(ValueType):
    """A non-empty text."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not value.strip():
            report.problem(at, "must not be empty")
            return None
        return value


class _Host(ValueType):
    """An IP address or the name of a host."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not _is_host(value):
            report.problem(
                at, f'must be an IP address or a host name, without scheme and port, not "{value}"'
            )
            return None
        return value


class _ObjectName(ValueType):
    """A name that Kubernetes accepts for most objects."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str) or not _is_object_name(value):
            report.problem(
                at,
                f"must be a DNS name: at most {MAX_NAME} lower-case letters, digits, dashes and "
                f'dots, with a letter or digit at both ends of each part, but found "{value}"',
            )
            return None
        return value


Label = Annotated[str, Meta(extra={"kind": _Label()})]


def is_dns_label(name: str) -> bool:
    """Whether Kubernetes accepts it as the name of a namespace."""
    return len(name) <= MAX_LABEL and _LABEL.fullmatch(name) is not None


def _is_object_name(text: str) -> bool:
    return len(text) <= MAX_NAME and all(map(_LABEL.fullmatch, text.split(".")))


def _is_host(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return len(text) <= MAX_NAME and all(map(_LABEL.fullmatch, text.lower().split(".")))
    return True


class SlotRequests(Struct, frozen=True, kw_only=True):
    cpu: Annotated[
        float | None,
        Meta(
            description="CPUs of one slot; needed for slot_type cpu.",
            extra={"kind": Number(above=0)},
        ),
    ] = None


class TaskGateway(Struct, frozen=True, kw_only=True):
    """A Gateway (Gateway API) through which the master reaches tasks of another cluster."""

    gateway_name: Annotated[Label, Meta(description="Name of the Gateway.")]
    gateway_namespace: Annotated[Label, Meta(description="Namespace of the Gateway.")]
    gateway_ip: Annotated[
        str,
        Meta(
            description="IP address or host name at which the master reaches the Gateway.",
            extra={"kind": _Host()},
        ),
    ]
    gateway_port_range_start: Annotated[
        int, _PORTS, Meta(description="First port for tasks, 1025 to 65535.")
    ] = 32768
    gateway_port_range_end: Annotated[
        int, _PORTS, Meta(description="Last port for tasks, 1025 to 65535.")
    ] = 65535


class AutoscalingSettings(Struct, frozen=True, kw_only=True):
    """How a cluster that can grow learns that tasks wait for nodes."""

    demand: Annotated[
        Literal["none", "pods", "provisioning_request"],
        Meta(
            description="pods: for tasks that wait for nodes the master makes pending pods of "
            "their shape, for which an autoscaler adds nodes. provisioning_request: it makes a "
            "ProvisioningRequest of Cluster Autoscaler for each task."
        ),
    ] = "none"
    class_name: Annotated[
        str,
        Meta(description="Class of these ProvisioningRequests.", extra={"kind": _ObjectName()}),
    ] = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
    image: Annotated[
        str,
        Meta(
            description="Image of pods that stand for a task, which run nothing.",
            extra={"kind": _Given()},
        ),
    ] = "registry.k8s.io/pause:3.10"
    max_pods: Annotated[
        int,
        Meta(
            description="Most pods of one pool for which nodes are asked.",
            extra={"kind": Integer(at_least=1)},
        ),
    ] = 100
    protect_tasks: Annotated[
        bool,
        Meta(description="Whether pods of tasks keep autoscalers from removing their nodes."),
    ] = True


class KubernetesManager(AnyResourceManager, frozen=True, kw_only=True):
    """A Kubernetes cluster that runs containers."""

    type: str = "kubernetes"
    default_namespace: Annotated[
        Label, Meta(description="Namespace of tasks whose workspace has no binding.")
    ] = "default"
    namespaces: Annotated[
        tuple[str, ...],
        Meta(
            description="Further namespaces of tasks, for an account that sees pods in these and "
            "the default one only; empty for one that sees all."
        ),
    ] = ()
    namespace: Annotated[str, Meta(description="Removed: use default_namespace.")] = ""
    max_slots_per_pod: Annotated[
        int | None,
        Meta(
            description="Slots of one pod; a task with more gets several pods of that many.",
            extra={"kind": Integer(at_least=0)},
        ),
    ] = None
    master_service_name: Annotated[
        str, Meta(description="The master's Service, through which tasks reach it.")
    ] = ""
    leave_kubernetes_resources: Annotated[bool, Meta(description="Has no effect.")] = False
    default_scheduler: Annotated[
        Literal["", "coscheduler", "preemption"],
        Meta(
            description="Scheduler of pods; empty for the default. coscheduler: it chooses the "
            "nodes. preemption is removed."
        ),
    ] = ""
    slot_type: Annotated[
        Literal["cuda", "gpu", "cpu", "rocm"], Meta(description="gpu is another name of cuda.")
    ] = "cuda"
    slot_resource_requests: SlotRequests = SlotRequests()
    gpu_resource: Annotated[
        str,
        Meta(
            description="Resource of nodes that is one slot, where that is no whole GPU, such as "
            "nvidia.com/mig-1g.10gb; empty for nvidia.com/gpu or amd.com/gpu by slot_type."
        ),
    ] = ""
    device_class: Annotated[
        str,
        Meta(
            description="DeviceClass of Dynamic Resource Allocation whose devices are the slots, "
            "such as gpu.nvidia.com; empty for a resource of nodes."
        ),
    ] = ""
    device_selector: Annotated[
        str,
        Meta(
            description="CEL expression that a device of device_class must meet to be a slot; "
            "empty for all."
        ),
    ] = ""
    autoscaling: AutoscalingSettings = AutoscalingSettings()
    rack_label: Annotated[
        str,
        Meta(
            description="Label of nodes that names their rack, for resources.topology of "
            "experiments; empty where racks are not known."
        ),
    ] = ""
    reach_tasks: Annotated[
        Literal["direct", "port_forward"],
        Meta(
            description="How the master reaches notebooks, shells and other services of tasks: "
            "at the addresses of their pods, or through the API server."
        ),
    ] = "direct"
    kubeconfig_path: Annotated[
        str,
        Meta(description="Path of the kubeconfig; empty for the master's own pod."),
    ] = ""
    determined_master_scheme: Annotated[
        Literal["", "http", "https"],
        Meta(description="Scheme of the master for tasks; empty for https where it has TLS."),
    ] = ""
    determined_master_host: Annotated[
        str, Meta(description="Host of the master for tasks; empty for its Service.")
    ] = ""
    determined_master_port: Annotated[
        int,
        Meta(
            ge=0, le=65535, description="Port of the master for tasks; 0 for that of its Service."
        ),
    ] = 0
    internal_task_gateway: TaskGateway | None = None
    fluent: dict[str, Any] | None = None


def handover_kind(
    pool: ResourcePool, manager: KubernetesManager
) -> Literal["kueue", "coscheduler"] | None:
    """Which program places the pods of a pool; None where the pool's planner does."""
    if pool.scheduler is not None and pool.scheduler.type == "kueue":
        return "kueue"
    return "coscheduler" if manager.default_scheduler == "coscheduler" else None


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
    for number, name in enumerate(manager.namespaces):
        if not is_dns_label(name):
            report.problem(f"{at}.namespaces[{number}]", f"{name!r} is no name of a namespace")
    _check_gateway(manager, f"{at}.internal_task_gateway", report)
    if manager.leave_kubernetes_resources:
        report.warn(f"{at}.leave_kubernetes_resources", "has no effect any more: remove it")
    if manager.fluent is not None:
        report.warn(f"{at}.fluent", "has no effect any more: remove it")


def _check_devices(manager: KubernetesManager, at: str, report: ProblemReport) -> None:
    if not manager.device_class:
        if manager.device_selector:
            report.problem(f"{at}.device_selector", "needs device_class: set it, or remove this")
        return
    where = f"{at}.device_class"
    if not _is_object_name(manager.device_class):
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
            text = f"{error}; docs/kubernetes.md lists the part of CEL that the master evaluates"
            report.problem(f"{at}.device_selector", text)


def _check_pods(
    manager: KubernetesManager, at: str, report: ProblemReport, defaults: Mapping[str, Any] | None
) -> None:
    elsewhere = _slots_per_pod(defaults)
    if manager.max_slots_per_pod is None and elsewhere is None:
        if not report.has_problem_at(at):
            report.problem(at, "must say how many slots one pod may have; 0 for none")
    elif manager.max_slots_per_pod is not None and elsewhere is not None:
        text = (
            "is set, and task_container_defaults.kubernetes.max_slots_per_pod is set too: "
            "remove one of them"
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
    given = section.get("max_slots_per_pod") if isinstance(section, Mapping) else None
    return given if isinstance(given, int) else None
