"""The backend's options for its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from determined_master.domain.pods.gateway_ports import PortRange
from determined_master.domain.pods.queues import is_queue, queue_name
from determined_wire.backoff import Backoff

SlotType = Literal["cuda", "rocm", "cpu"]

RESOURCE_OF: Mapping[str, str] = {"cuda": "nvidia.com/gpu", "rocm": "amd.com/gpu"}
"""By slot type: the resource of nodes and pods. CPUs are counted separately."""
GATEWAYS = "/apis/gateway.networking.k8s.io/v1"


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """How the cluster's own queue and scheduler place the pods of a pool."""

    kind: Literal["kueue", "coscheduler"]
    queue_name: str = ""
    """Of kueue's LocalQueue in the namespace of the tasks."""
    priority_class: str = ""
    """Of kueue's WorkloadPriorityClasses; empty for the priority of the pods."""


class PoolPods(msgspec.Struct, frozen=True, kw_only=True):
    """A pool: where its pods may run, according to its pod specs."""

    name: str
    cpu_pod_spec: Mapping[str, Any] | None = None
    gpu_pod_spec: Mapping[str, Any] | None = None
    handover: Handover | None = None
    """None where the pool's planner chooses the nodes."""


class MasterAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address at which pods reach the master."""

    scheme: str = "http"
    host: str = ""
    port: int = 8080
    cert_name: str = ""

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


class Autoscaling(msgspec.Struct, frozen=True, kw_only=True):
    """How nodes are asked for when tasks wait."""

    demand: Literal["pods", "provisioning_request"] = "pods"
    """By placeholders, or by objects that ask for all nodes of a task."""
    image: str
    """Of placeholders."""
    max_pods: int
    """Pods of a pool for which nodes are asked."""
    class_name: str = ""
    """The class of `ProvisioningRequest` objects."""
    protects_tasks: bool = True
    """Whether autoscalers leave nodes alone on which tasks run."""


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A Gateway through which the master reaches services of tasks."""

    name: str
    namespace: str
    host: str
    """Where the master reaches it."""
    ports: PortRange
    """For tasks."""

    @property
    def path(self) -> str:
        """Of its object."""
        return f"{GATEWAYS}/namespaces/{self.namespace}/gateways/{self.name}"


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    cluster_id: str
    """Of the master: marks all of its objects."""
    master_id: str = ""
    master: MasterAddress
    pools: tuple[PoolPods, ...]
    node_prefix: str = ""
    """Prefix of an agent's id before its node's name: several clusters may have equal names."""
    kubeconfig_path: str = ""
    """Empty for the account of the master's own pod."""
    name: str = ""
    """The cluster's name in messages."""
    default_namespace: str = "default"
    namespaces: tuple[str, ...] = ()
    """Further namespaces of tasks, where these and the default one are all that the account sees;
    empty: it sees all."""
    slot_type: SlotType = "cuda"
    cpu_per_slot: float = 1.0
    """CPUs of one slot, where slots are CPUs."""
    gpu_resource: str = ""
    """Resource of one slot where that is no whole GPU, such as a MIG profile."""
    device_class: str = ""
    """DeviceClass whose devices are the slots; empty where a resource of nodes is."""
    device_selector: str = ""
    """Of the devices of the class that are slots; empty for all."""
    default_scheduler: str = ""
    forwards_ports: bool = False
    """Whether the master reaches ports of pods through the API server."""
    gateway: Gateway | None = None
    """By which the master reaches ports of pods; None where it needs none."""
    autoscaling: Autoscaling | None = None
    """None: the nodes are those that are there."""
    rack_label: str = ""
    """Of nodes; empty where racks are not known."""
    own_account: str = ""
    """NAMESPACE/NAME of the master's service account, which tasks may not use; empty for none."""
    reserved_names: tuple[str, ...] = ()
    """Of Secrets, claims and accounts, and values of labels, that tasks may not have."""

    @property
    def title(self) -> str:
        """The cluster, in messages."""
        return f"Kubernetes cluster {self.name!r}" if self.name else "the Kubernetes cluster"

    @property
    def queues(self) -> dict[str, PoolPods]:
        """The pools whose pods are handed over, by the agent that stands for the queue of each."""
        return {queue_name(pool.name): pool for pool in self.pools if pool.handover is not None}

    def handover_of(self, agent_id: str) -> Handover | None:
        """How pods that were planned for an agent are handed over; None for those of a node."""
        if not is_queue(agent_id):
            return None
        pool = self.queues.get(agent_id)
        return None if pool is None else pool.handover

    @property
    def device_resource(self) -> str:
        """The resource of nodes and pods that stands for a slot; empty where slots are CPUs."""
        return self.gpu_resource or RESOURCE_OF.get(self.slot_type, "")

    def domain_labels(self) -> dict[str, str]:
        """By kind of domain: the label of nodes that names it."""
        labels = {"zone": "topology.kubernetes.io/zone", "rack": self.rack_label}
        return {kind: label for kind, label in labels.items() if label}

    def paths_of(self, kind: str, group: str = "/api/v1") -> list[str]:
        """Where objects of a kind are listed: everywhere, or in the namespaces of tasks.

        Args:
            kind: in the plural, such as `pods`.
            group: the path of its API group and version.
        """
        if kind == "nodes" or not self.namespaces:
            return [f"{group}/{kind}"]
        namespaces = dict.fromkeys((self.default_namespace, *self.namespaces))
        return [f"{group}/namespaces/{namespace}/{kind}" for namespace in namespaces]


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Time limits in seconds."""

    call_s: float = 20.0
    """One answer of the API server."""
    watch_s: int = 240
    """One watch, before it is opened again."""
    backoff: Backoff[float] = Backoff(1.0, 15.0)
    """Delays after the API server could not be reached."""
    unplaced_s: float = 300.0
    """How long a pod may wait for its node before its slots are released."""
    unschedulable_s: float = 60.0
    """The same for a pod that Kubernetes' scheduler has found not to fit its node."""
    unstarted_s: float = 600.0
    """How long a node may fail to start a pod, for a missing volume or the like."""
    output_s: float = 60.0
    """Time limit for the output of an ended pod that cannot be read."""
    last_lines_s: float = 10.0
    """How long the end of a pod is held back for its last output, which is stored first."""
    flush_s: float = 0.25
    """How long a line of output waits for others at most."""
    grace_s: int = 15
    """Between a pod's termination signal and its kill."""
