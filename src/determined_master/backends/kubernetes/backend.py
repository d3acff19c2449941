"""The Kubernetes backend: nodes are agents, pods are containers.

The planner of the pools decides; a plan's containers become pods on the nodes of the plan. All
state is in the cluster's own objects (labels and annotations), so that a restarted master finds
running containers by listing them.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from determined_master.backends.kubernetes.client import KubernetesApi
from determined_master.backends.kubernetes.cluster_watcher import Caches, ClusterWatcher
from determined_master.backends.kubernetes.demand.nodes import node_demand
from determined_master.backends.kubernetes.devices.follow import DeviceFollower
from determined_master.backends.kubernetes.gateway.ports import GatewayPorts
from determined_master.backends.kubernetes.handover.waits import QueueWaits
from determined_master.backends.kubernetes.maintenance import ClusterMaintenance
from determined_master.backends.kubernetes.namespace_rules import NamespaceRules
from determined_master.backends.kubernetes.namespaces import NamespaceCalls
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.node_labels import NodeLabels
from determined_master.backends.kubernetes.options import ClusterOptions, Times
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.backends.kubernetes.pods.kills import PodKills
from determined_master.backends.kubernetes.pods.starts import PodStarts, StartParts
from determined_master.backends.kubernetes.pods.state import Observed
from determined_master.backends.kubernetes.port_forward import PortForward
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.domain.machines.agent_switches import Switches
from determined_master.domain.pods.limit_ranges import LimitRangeCache
from determined_master.domain.pods.placement import ClusterLoads
from determined_master.domain.pods.quota_cache import QuotaCache
from determined_master.ports.agents import AgentSnapshot, NotConnected
from determined_master.ports.kubernetes import ClusterTrouble, NodeRequest, NodesAsked, PodEvents
from determined_master.ports.orders import StartOrder


class KubernetesBackend(NamespaceCalls):
    """One Kubernetes cluster; implements `ports.KubernetesCluster`."""

    _task: asyncio.Task[None] | None = None

    def __init__(
        self,
        options: ClusterOptions,
        events: PodEvents,
        *,
        api: KubernetesApi | None = None,
        times: Times | None = None,
        node_wait_s: float = 25.0,
    ) -> None:
        """
        Args:
            options: the cluster, and the definition of a slot.
            events: receives what pods and nodes report.
            api: calls the cluster; made from the options when None.
            times: how long to wait for what.
            node_wait_s: how long a lost node may take to return.
        """
        self._options = options
        self._times = times or Times()
        api = api or KubernetesApi(options.kubeconfig_path, call_s=self._times.call_s)
        super().__init__(api, options.cluster_id)
        self._nodes = NodeCache(options)
        self._quotas, self._ranges = QuotaCache(), LimitRangeCache()
        self._pods = PodCache(self._api, events, self._times)
        self._classes = PriorityClasses(self._api, options.cluster_id)
        self._labels = NodeLabels(options, self._api, self._nodes.labels)
        self._demand = node_demand(options, self._api, self._nodes, self._pods, self._classes)
        self._waits = QueueWaits(options, self._api, self._pods)
        self._gateway = GatewayPorts(options, self._api, self._pods)
        self._forward = PortForward(self._api)
        self._dra = DeviceFollower(options, self._api, self._nodes, self._pods, self._times)
        parts = StartParts(
            self._nodes, self._pods, self._classes, self._demand, self._gateway, self._dra
        )
        self._starts = PodStarts(options, self._api, events, parts, self._times.grace_s)
        self._kills = PodKills(self._api, events, self._pods, self._gateway)
        self._watcher = ClusterWatcher(
            options,
            self._api,
            events,
            Caches(
                self._nodes,
                self._pods,
                NamespaceRules(self._quotas, self._ranges),
                self._demand,
                self._labels,
                self._waits,
                self._gateway,
                self._dra,
            ),
            ClusterMaintenance(
                options.title,
                self._api,
                options.default_namespace,
                self._classes,
                lambda: self._pods.priority_classes() | self._demand.priority_classes(),
            ),
            self._times,
            node_wait_s,
        )

    def has(self, agent_id: str) -> bool:
        """Whether it is, or was, one of the nodes."""
        return self._nodes.has(agent_id)

    def open(self, expected: Mapping[str, str], epoch: int) -> None:
        """Find running pods, and follow the cluster from now on.

        Args:
            expected: name and pool of each node that runs containers according to the database.
            epoch: of the leader; Kubernetes itself makes sure that an object is created once.
        """
        self._nodes.expect(expected)
        self._task = asyncio.create_task(self._watcher.run(expected))

    async def close(self) -> None:
        """Disconnect from the cluster; its pods continue."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._pods.close()
        await self._forward.close()
        await self._api.close()

    def agents(self) -> Sequence[AgentSnapshot]:
        """The nodes that serve a pool."""
        return self._nodes.snapshots()

    def trouble(self) -> ClusterTrouble | None:
        """What keeps every pod from starting at present; None for nothing."""
        return self._watcher.trouble

    def loads(self) -> ClusterLoads:
        """The nodes, the requests of pods there that are not this master's, and the quotas."""
        return replace(
            self._nodes.loads(),
            quotas=self._quotas.by_namespace(),
            defaults=self._ranges.by_namespace(),
            domain_labels=self._options.domain_labels(),
        )

    def request_nodes(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        """Ask for nodes for the tasks of a pool, and for no others of it any more."""
        self._demand.request(pool, requests)

    def nodes_asked(self, allocation_id: str) -> NodesAsked | None:
        """The answer to the request for nodes of a waiting task; None without a request."""
        return self._demand.asked(allocation_id)

    def waits_for(self, allocation_id: str) -> str:
        """Why pods of an allocation wait in the cluster; empty when none does."""
        return self._waits.text(allocation_id) or self._gateway.text(allocation_id)

    def device_note(self) -> str:
        """Why devices of the class of its slots are not free; empty when all are, or for none."""
        return self._dra.note()

    @property
    def most_placeholders(self) -> int:
        """For how many pods of a pool nodes are asked at most; 0 where none are asked for."""
        scaling = self._options.autoscaling
        return 0 if scaling is None else scaling.max_pods

    @property
    def is_forwarded(self) -> bool:
        """Whether ports of pods are reached by `connect` alone."""
        return self._options.forwards_ports or self._options.gateway is not None

    async def connect(self, container_id: str, port: int) -> socket.socket:
        """A socket that leads to a port of a container; the caller closes it.

        Raises:
            ConnectionError: the container has no pod, or Kubernetes does not connect to it.
        """
        pod = self._pods.find(container_id)
        if pod is None:
            raise ConnectionError(f"container {container_id} has no pod")
        if self._options.gateway is not None:
            return await self._gateway.connect(pod, port)
        return await self._forward.connect(pod.namespace, pod.name, port)

    def set_switches(self, switches: Mapping[str, Switches]) -> None:
        """Slots disabled from now on, by node; on all other nodes all are enabled."""
        self._nodes.set_switches(switches)
        self._labels.set_switches(switches)

    async def start_container(self, order: StartOrder) -> None:
        """Create a container's pod and its Secrets, once even if it is ordered repeatedly.

        Raises NotConnected.
        """
        self._check_reachable()
        await self._starts.start(order)

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        """End a pod; one that was never created is reported as ended. Raises NotConnected."""
        self._check_reachable()
        await self._kills.signal(agent_id, container_id, signal, allocation_id)

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        self._pods.forget(container_id)
        self._starts.forget(container_id)
        self._gateway.forget(container_id)

    def pod_of(self, container_id: str) -> Observed | None:
        return self._pods.find(container_id)

    def _check_reachable(self) -> None:
        if not self._watcher.is_reachable:
            raise NotConnected("Kubernetes' API server is not reached")
