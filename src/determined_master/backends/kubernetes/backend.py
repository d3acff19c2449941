"""The Kubernetes backend: nodes are agents, pods are containers.

The planner of the pools decides; a plan's containers become pods on the nodes of the plan. All
state is in the cluster's own objects (labels and annotations), so that a restarted master finds
running containers by listing them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from msgspec.structs import replace

from determined_master.backends.kubernetes.client import (
    MERGE_PATCH,
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.demand.nodes import node_demand
from determined_master.backends.kubernetes.devices.claims import create_claim
from determined_master.backends.kubernetes.devices.follow import DeviceFollower
from determined_master.backends.kubernetes.gateway.errors import GatewayWaits
from determined_master.backends.kubernetes.gateway.ports import GatewayPorts
from determined_master.backends.kubernetes.handover.gangs import Gangs, check_managed
from determined_master.backends.kubernetes.handover.waits import QueueWaits
from determined_master.backends.kubernetes.log.start_notes import StartNotes
from determined_master.backends.kubernetes.manifest import prepare
from determined_master.backends.kubernetes.manifest.objects import Json, Objects, build
from determined_master.backends.kubernetes.manifest.pod import Extras
from determined_master.backends.kubernetes.namespaces import NamespaceCalls
from determined_master.backends.kubernetes.node_board import NodeBoard
from determined_master.backends.kubernetes.node_labels import NodeLabels
from determined_master.backends.kubernetes.options import ClusterOptions, Times
from determined_master.backends.kubernetes.pods.board import PodBoard
from determined_master.backends.kubernetes.pods.state import Observed, observe
from determined_master.backends.kubernetes.port_forward import PortForward
from determined_master.backends.kubernetes.presence import Boards, Presence
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.backends.kubernetes.upkeep import Upkeep
from determined_master.domain.machines.agent_switches import Switches
from determined_master.domain.pods.limit_ranges import LimitRangeBoard
from determined_master.domain.pods.placement import ClusterLoads
from determined_master.domain.pods.quota_board import QuotaBoard
from determined_master.domain.pods.rejections import delay, is_over_quota, lost_marks, refusal
from determined_master.ports.agents import AgentSnapshot, NotConnected
from determined_master.ports.kubernetes import ClusterTrouble, NodeRequest, NodesAsked, PodEvents
from determined_master.ports.orders import StartOrder
from determined_wire.agent_link import ContainerReport, Failure

log = logging.getLogger(__name__)

PREPARE = Path(prepare.__file__)
KILL = 9
AT_ONCE = {"gracePeriodSeconds": "0"}
_OTHER_SIGNALS = "Kubernetes can only end pods"


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
        self._events = events
        self._times = times or Times()
        api = api or KubernetesApi(options.kubeconfig_path, call_s=self._times.call_s)
        super().__init__(api, options.cluster_id)
        self._prepare = PREPARE.read_text(encoding="utf-8")
        self._nodes = NodeBoard(options)
        self._quotas, self._ranges = QuotaBoard(), LimitRangeBoard()
        self._pods = PodBoard(self._api, events, self._times)
        self._classes = PriorityClasses(self._api, options.cluster_id)
        self._labels = NodeLabels(options, self._api, self._nodes.labels)
        self._demand = node_demand(options, self._api)
        self._gangs = Gangs(self._api)
        self._waits = QueueWaits(options, self._api, self._pods)
        self._gateway = GatewayPorts(options, self._api, self._pods)
        self._forward = PortForward(self._api)
        self._dra = DeviceFollower(options, self._api, self._nodes, self._pods, self._times)
        self._presence = Presence(
            options,
            self._api,
            events,
            Boards(
                self._nodes,
                self._pods,
                self._quotas,
                self._ranges,
                self._demand,
                self._labels,
                self._waits,
                self._gateway,
                self._dra,
            ),
            Upkeep(
                options.title,
                self._api,
                options.default_namespace,
                self._classes,
                self._pods.priority_classes,
            ),
            self._times,
            node_wait_s,
        )
        self._notes = StartNotes(events)

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
        self._task = asyncio.create_task(self._presence.run(expected))

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
        return self._presence.trouble

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

        The pod waits for its Secrets. A refusal of Kubernetes ends the container with the reason.
        Raises NotConnected.
        """
        self._check_reachable()
        if self._pods.has_begun(order.container_id):
            return
        if self._nodes.has_left(order.agent_id) and self._pods.find(order.container_id) is None:
            await self._report_left(order)
            return
        self._check_ready(order.agent_id)
        self._check_devices(order)
        try:
            priority = order.pod.priority if order.pod is not None else None
            name = await self._classes.ensure(priority)
            leased = await self._gateway.lease(order)
            api = self._dra.version if order.slot_ids else ""
            extras = Extras(self._prepare, name, self._times.grace_s, leased, api)
            parts = build(order, self._options, extras)
        except ValueError as error:
            await self._refuse(order, str(error))
            return
        except GatewayWaits as error:
            await self._await_gateway(order, error)
        except KubernetesUnreachable as error:
            raise NotConnected(f"Kubernetes: {error}") from error
        try:
            await self._demand.release(order.allocation_id)
            changed = await self._create_all(order.container_id, parts)
        except GatewayWaits as error:
            await self._await_gateway(order, error)
        except KubernetesUnreachable as error:
            await self._notes.note(order, "server", delay(str(error)))
            raise NotConnected(f"Kubernetes: {error}") from error
        except KubernetesRefused as error:
            await self._put_off(order, error)
            await self._give_up(
                order, refusal(error.status, error.causes, str(error), parts.namespace)
            )
        else:
            if changed:
                await self._give_up(order, changed)

    async def signal_container(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str = ""
    ) -> None:
        """End a pod; one that was never created is reported as ended. Raises NotConnected.

        Its log stays readable: the pod gets a deadline that has passed. It is deleted only if it
        is not placed, or does not end.
        """
        self._check_reachable()
        if signal != KILL:
            log.warning(_OTHER_SIGNALS, extra={"container": container_id, "signal": signal})
            return
        pod = self._pods.find(container_id)
        if pod is None:
            self._gateway.forget(container_id)
            if allocation_id:
                await self._report_aborted(agent_id, container_id, allocation_id)
            return
        try:
            if pod.is_scheduled and not self._pods.was_killed(container_id):
                await self._set_deadline(pod.namespace, pod.name)
                self._pods.note_kill(container_id)
            else:
                await self._pods.delete(pod, grace_s=0)
        except KubernetesUnreachable as error:
            raise NotConnected(f"Kubernetes: {error}") from error

    async def forget_container(self, agent_id: str, container_id: str) -> None:
        self._pods.forget(container_id)
        self._notes.forget(container_id)
        self._gateway.forget(container_id)

    def pod_of(self, container_id: str) -> Observed | None:
        return self._pods.find(container_id)

    async def _put_off(self, order: StartOrder, error: KubernetesRefused) -> None:
        """Have an order repeated whose pod may be taken later. Raises NotConnected."""
        text = str(error)
        if is_over_quota(error.status, text):
            await self._notes.note(order, "quota", f"waits for the quota of its namespace: {text}")
        elif not (error.status == 409 or self._classes.is_missing(text)):
            return
        raise NotConnected(f"Kubernetes: {text}") from error

    async def _await_gateway(self, order: StartOrder, error: GatewayWaits) -> NoReturn:
        """Have an order repeated that waits for ports of the Gateway. Raises NotConnected."""
        self._gateway.note_wait(order, error)
        await self._notes.note(order, "gateway", str(error))
        raise NotConnected(f"Kubernetes: {error}") from error

    async def _give_up(self, order: StartOrder, reason: str) -> None:
        """End a container that can never start, and remove what was created for it."""
        await self._refuse(order, reason)
        pod = self._pods.find(order.container_id)
        if pod is not None:
            await self._remove(pod)

    async def _create_all(self, container_id: str, parts: Objects) -> str:
        """Create the pod, unless it exists, and its Secrets.

        Returns:
            The change of a webhook that makes the pod unusable, and the remedy; empty without one.

        Raises:
            Unreachable, Refused.
        """
        base = f"/api/v1/namespaces/{parts.namespace}"
        known = self._pods.find(container_id)
        if known is not None:
            uid = known.uid
        else:
            made = await self._create(f"{base}/pods", parts.pod)
            if made is None:
                made = await self._api.call("GET", f"{base}/pods/{parts.name}")
            uid = str(made["metadata"]["uid"])
            changed = lost_marks(parts.pod["metadata"], made["metadata"])
            if changed:
                await self._api.call("DELETE", f"{base}/pods/{parts.name}", query=AT_ONCE)
                return changed
            found = observe(made, self._api.now())
            if found is not None:
                self._pods.note(found, made)
            check_managed(parts, made)
        await create_claim(self._api, parts, uid)
        await self._gangs.create_group(parts, uid)
        await self._gateway.expose(container_id, parts, uid)
        for secret in parts.secrets_of(uid):
            await self._create(f"{base}/secrets", secret)
        return ""

    async def _create(self, path: str, body: Json) -> Json | None:
        """The created object; None when it exists already."""
        try:
            return await self._api.call("POST", path, body=body)
        except KubernetesRefused as error:
            if error.status == 409 and error.reason == "AlreadyExists":
                return None
            raise

    async def _remove(self, pod: Observed) -> None:
        try:
            await self._pods.delete(pod, grace_s=0)
        except (KubernetesRefused, KubernetesUnreachable) as error:
            log.warning("a pod remains: %s", error, extra={"pod": pod.name})

    async def _set_deadline(self, namespace: str, name: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        body = {"spec": {"activeDeadlineSeconds": 1}}
        try:
            await self._api.call("PATCH", path, body=body, content_type=MERGE_PATCH)
        except KubernetesRefused as error:
            if error.status == 409:
                raise KubernetesUnreachable(str(error)) from error
            if error.status != 404:
                await self._api.call("DELETE", path)

    async def _refuse(self, order: StartOrder, reason: str) -> None:
        """Report a container that can never start as ended."""
        report = ContainerReport(
            container_id=order.container_id,
            allocation_id=order.allocation_id,
            state="TERMINATED",
            failure=Failure("task_error", reason),
        )
        await self._events.container_changed(order.agent_id, order.container_id, 4, report)

    async def _report_left(self, order: StartOrder) -> None:
        """Report that a container was planned for a node that serves no pool any more."""
        text = (
            f"node {order.agent_id} got taints or labels since the task was planned, and its pool "
            "has it no longer: the task is planned again"
        )
        report = ContainerReport(
            container_id=order.container_id,
            allocation_id=order.allocation_id,
            state="TERMINATED",
            failure=Failure("agent_error", text),
        )
        await self._events.container_changed(order.agent_id, order.container_id, 4, report)

    async def _report_aborted(self, node: str, container_id: str, allocation_id: str) -> None:
        report = ContainerReport(
            container_id=container_id,
            allocation_id=allocation_id,
            state="TERMINATED",
            failure=Failure("container_aborted", "it was killed before it ran"),
        )
        await self._events.container_changed(node, container_id, 4, report)

    def _check_reachable(self) -> None:
        if not self._presence.is_reachable:
            raise NotConnected("Kubernetes' API server is not reached")

    def _check_devices(self, order: StartOrder) -> None:
        if self._dra.is_on and order.slot_ids and not self._dra.version:
            raise NotConnected("Kubernetes serves no devices (resource.k8s.io)")

    def _check_ready(self, node: str) -> None:
        if not self._nodes.is_ready(node):
            raise NotConnected(f"node {node} is not ready")
