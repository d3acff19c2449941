"""One PriorityClass for each priority of a job, created on first use.

They never make Kubernetes preempt: the pools' planner decides about preemption.
"""

from __future__ import annotations

import logging

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused

log = logging.getLogger(__name__)

_PATH = "/apis/scheduling.k8s.io/v1/priorityclasses"


class PriorityClasses:
    def __init__(self, api: KubernetesApi, cluster_id: str) -> None:
        self._api = api
        self._cluster_id = cluster_id
        self._made: set[str] = set()
        self._is_forbidden = False

    async def ensure(self, priority: int | None) -> str:
        """Name of a priority's class; empty without a priority, or where classes are not allowed.

        Raises:
            Unreachable: the API server does not answer.
        """
        if priority is None or self._is_forbidden:
            return ""
        name = f"determined-priority-{priority}"
        if name in self._made:
            return name
        body = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "labels": {names.CLUSTER: self._cluster_id}},
            "value": priority,
            "preemptionPolicy": "Never",
            "globalDefault": False,
            "description": f"Tasks of priority {priority}",
        }
        try:
            await self._api.call("POST", _PATH, body=body)
        except KubernetesRefused as error:
            if error.reason != "AlreadyExists":
                self._is_forbidden = True
                log.warning("pods get no priority classes: %s", error)
                return ""
        self._made.add(name)
        return name
