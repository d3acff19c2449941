"""Creates the pods of containers with their Secrets, and reports those that can never start."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.demand.nodes import NodeDemand
from determined_master.backends.kubernetes.devices.claims import create_claim
from determined_master.backends.kubernetes.devices.follow import DeviceFollower
from determined_master.backends.kubernetes.gateway.errors import GatewayWaits
from determined_master.backends.kubernetes.gateway.ports import GatewayPorts
from determined_master.backends.kubernetes.handover.gangs import Gangs, check_managed
from determined_master.backends.kubernetes.log.start_notes import StartNotes
from determined_master.backends.kubernetes.manifest import prepare
from determined_master.backends.kubernetes.manifest.objects import Json, Objects, build
from determined_master.backends.kubernetes.manifest.pod import Extras
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.backends.kubernetes.pods.state import Observed, observe
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.domain.pods.rejections import delay, is_over_quota, lost_marks, refusal
from determined_master.ports.agents import NotConnected
from determined_master.ports.kubernetes import PodEvents
from determined_master.ports.orders import StartOrder
from determined_wire.agent_link import ContainerReport, Failure

log = logging.getLogger(__name__)

PREPARE = Path(prepare.__file__)
AT_ONCE = {"gracePeriodSeconds": "0"}


@dataclass(frozen=True)
class StartParts:
    """The objects of the cluster that a start of a pod needs."""

    nodes: NodeCache
    pods: PodCache
    classes: PriorityClasses
    demand: NodeDemand
    gateway: GatewayPorts
    devices: DeviceFollower


class PodStarts:
    """Carries out the starts of one cluster's containers."""

    def __init__(
        self,
        options: ClusterOptions,
        api: KubernetesApi,
        events: PodEvents,
        parts: StartParts,
        grace_s: int,
    ) -> None:
        """
        Args:
            options: of the cluster.
            api: calls the cluster.
            events: takes the ends of containers that cannot start, and notes for their logs.
            parts: the other objects.
            grace_s: between a pod's termination signal and its kill.
        """
        self._options = options
        self._api = api
        self._events = events
        self._nodes = parts.nodes
        self._pods = parts.pods
        self._classes = parts.classes
        self._demand = parts.demand
        self._gateway = parts.gateway
        self._devices = parts.devices
        self._grace_s = grace_s
        self._prepare = PREPARE.read_text(encoding="utf-8")
        self._gangs = Gangs(api)
        self._notes = StartNotes(events)

    async def start(self, order: StartOrder) -> None:
        """Create a container's pod and its Secrets, once even if it is ordered repeatedly.

        The pod waits for its Secrets. A refusal of Kubernetes ends the container with the reason.
        Raises NotConnected.
        """
        if self._pods.has_begun(order.container_id):
            return
        if self._nodes.has_left(order.agent_id) and self._pods.find(order.container_id) is None:
            await self._report_left(order)
            return
        self._check_ready(order)
        try:
            priority = order.pod.priority if order.pod is not None else None
            name = await self._classes.ensure(priority)
            leased = await self._gateway.lease(order)
            devices = self._devices.version if order.slot_ids else ""
            extras = Extras(self._prepare, name, self._grace_s, leased, devices)
            parts = build(order, self._options, extras)
        except ValueError as error:
            await self._refuse(order, str(error))
            return
        except GatewayWaits as error:
            await self._await_gateway(order, error)
        except KubernetesUnreachable as error:
            raise NotConnected(f"Kubernetes: {error}") from error
        try:
            await self._demand.make_room(order.allocation_id, order.agent_id)
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

    def forget(self, container_id: str) -> None:
        """Its end is stored."""
        self._notes.forget(container_id)

    def _check_ready(self, order: StartOrder) -> None:
        if not self._nodes.is_ready(order.agent_id):
            raise NotConnected(f"node {order.agent_id} is not ready")
        if self._devices.is_on and order.slot_ids and not self._devices.version:
            raise NotConnected("Kubernetes serves no devices (resource.k8s.io)")

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
        existing = self._pods.find(container_id)
        if existing is not None:
            uid = existing.uid
        else:
            created = await self._create(f"{base}/pods", parts.pod)
            if created is None:
                created = await self._api.call("GET", f"{base}/pods/{parts.name}")
            uid = str(created["metadata"]["uid"])
            changed = lost_marks(parts.pod["metadata"], created["metadata"])
            if changed:
                await self._api.call("DELETE", f"{base}/pods/{parts.name}", query=AT_ONCE)
                return changed
            observed = observe(created, self._api.now())
            if observed is not None:
                self._pods.note_created(observed, created)
            check_managed(parts, created)
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
