"""Settings of the Kubernetes resource manager."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from determined_master.domain.config.schema.values import Integer, Number
from determined_master.settings.kubernetes.names import (
    GivenType,
    HostType,
    Label,
    LabelKeyType,
    LabelType,
    ObjectNameType,
    Optional,
)
from determined_master.settings.pools import AnyResourceManager, ResourcePool

Struct = msgspec.Struct

KUBERNETES_PRIORITY = 50
"""Of jobs in Kubernetes pools that set none; there a higher priority is ahead."""
_PORTS = Meta(ge=1025, le=65535)


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
            extra={"kind": HostType()},
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
        Meta(description="Class of these ProvisioningRequests.", extra={"kind": ObjectNameType()}),
    ] = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
    image: Annotated[
        str,
        Meta(
            description="Image of pods that stand for a task, which run nothing.",
            extra={"kind": GivenType()},
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
    reserved_names: Annotated[
        tuple[str, ...],
        Meta(
            description="Secrets, claims and service accounts that pod specs of tasks may not "
            "name, and values that labels of their pods may not have. The Helm chart sets it."
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
        str,
        Meta(
            description="The master's Service, through which tasks reach it.",
            extra={"kind": Optional(LabelType())},
        ),
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
            "experiments; empty where racks are not known.",
            extra={"kind": LabelKeyType()},
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
        str,
        Meta(
            description="Host of the master for tasks; empty for its Service.",
            extra={"kind": Optional(HostType())},
        ),
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
