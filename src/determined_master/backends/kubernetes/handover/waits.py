"""Why pods that were handed over have no node yet, in the words of kueue or of the scheduler."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused
from determined_master.backends.kubernetes.manifest.handover import group_name
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.domain.pods.admission import kueue_wait, scheduler_wait

log = logging.getLogger(__name__)

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta1"
REFRESH_S = 5.0
_Key = tuple[str, str]
"""Namespace and name."""


class QueueWaits:
    """Those of one cluster, while its master leads."""

    def __init__(self, options: ClusterOptions, api: KubernetesApi, pods: PodCache) -> None:
        self._options = options
        self._api = api
        self._pods = pods
        self._workloads: Mapping[_Key, list[dict[str, Any]]] = {}
        """Conditions of kueue's Workloads of waiting gangs."""
        self._is_refused = False

    def text(self, allocation_id: str) -> str:
        """Why an allocation's pods have no node; empty when all have one, or are not made yet."""
        pods = (p for p in self._pods.handed_over() if p.report.allocation_id == allocation_id)
        unplaced = [pod for pod in pods if not pod.is_scheduled]
        if not unplaced:
            return ""
        seen = max(unplaced, key=lambda pod: pod.is_gated)
        handover = self._options.handover_of(seen.node)
        if handover is None:
            return ""
        if handover.kind == "kueue" and seen.is_gated:
            key = seen.namespace, group_name(self._options.cluster_id, allocation_id)
            return kueue_wait(handover.queue_name, self._workloads.get(key))
        return scheduler_wait(seen.scheduler, seen.waits_for)

    async def refresh(self) -> None:
        """Read the Workloads of gangs that wait. Raises Unreachable."""
        gangs = {
            (pod.namespace, group_name(self._options.cluster_id, pod.report.allocation_id))
            for pod in self._pods.handed_over()
            if pod.is_gated
        }
        if not gangs:
            self._workloads = {}
            return
        conditions = {}
        try:
            for path in self._options.paths_of("workloads", WORKLOADS):
                for item in (await self._api.call("GET", path)).get("items") or ():
                    key = str(item["metadata"]["namespace"]), str(item["metadata"]["name"])
                    if key in gangs:
                        conditions[key] = list((item.get("status") or {}).get("conditions") or ())
        except KubernetesRefused as error:
            if not self._is_refused:
                self._is_refused = True
                log.warning("kueue's reasons are not known: %s", error)
            return
        self._is_refused = False
        self._workloads = conditions
