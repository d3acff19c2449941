"""Ends pods: a killed one keeps its log until its end is stored."""

from __future__ import annotations

import logging

from determined_master.backends.kubernetes.client import (
    MERGE_PATCH,
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.gateway.ports import GatewayPorts
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.ports.agents import NotConnected
from determined_master.ports.kubernetes import PodEvents
from determined_wire.agent_link import ContainerReport, Failure

log = logging.getLogger(__name__)

KILL = 9
_OTHER_SIGNALS = "Kubernetes can only end pods"


class PodKills:
    """Carries out the signals of one cluster's containers."""

    def __init__(
        self, api: KubernetesApi, events: PodEvents, pods: PodCache, gateway: GatewayPorts
    ) -> None:
        self._api = api
        self._events = events
        self._pods = pods
        self._gateway = gateway

    async def signal(
        self, agent_id: str, container_id: str, signal: int, allocation_id: str
    ) -> None:
        """End a pod; one that was never created is reported as ended. Raises NotConnected.

        Its log stays readable: the pod gets a deadline that has passed. It is deleted only if it
        is not placed, or does not end.
        """
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

    async def _report_aborted(self, node: str, container_id: str, allocation_id: str) -> None:
        report = ContainerReport(
            container_id=container_id,
            allocation_id=allocation_id,
            state="TERMINATED",
            failure=Failure("container_aborted", "it was killed before it ran"),
        )
        await self._events.container_changed(node, container_id, 4, report)
