"""One PriorityClass for each priority of a job, and one for placeholders, created on first use.

They never make Kubernetes preempt: the pools' planner decides about preemption.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection

from determined_master import clock
from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused

log = logging.getLogger(__name__)

_PATH = "/apis/scheduling.k8s.io/v1/priorityclasses"
_MISSING = re.compile(r"no PriorityClass with name (\S+) was found")
UNUSED_S = 600.0
"""How long a class stays that no pod has: the pod for which it was made may be on its way."""


class PriorityClasses:
    def __init__(self, api: KubernetesApi, cluster_id: str) -> None:
        self._api = api
        self._cluster_id = cluster_id
        self._used_at: dict[str, float] = {}
        """By class that exists: when it was used last, by the monotonic clock."""
        self._is_forbidden = False

    async def ensure(self, priority: int | None) -> str:
        """Name of a priority's class; empty without a priority, or where classes are not allowed.

        Raises:
            Unreachable: the API server does not answer.
        """
        if priority is None or self._is_forbidden:
            return ""
        name = f"determined-priority-{priority}"
        if name in self._used_at:
            self._used_at[name] = clock.monotonic_s()
            return name
        return name if await self.make(name, priority, f"Tasks of priority {priority}") else ""

    async def make(self, name: str, value: int, description: str) -> bool:
        """Create a class; returns whether it exists now. Raises Unreachable."""
        body = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "labels": {names.CLUSTER: self._cluster_id}},
            "value": value,
            "preemptionPolicy": "Never",
            "globalDefault": False,
            "description": description,
        }
        try:
            await self._api.call("POST", _PATH, body=body)
        except KubernetesRefused as error:
            if error.reason != "AlreadyExists":
                self._is_forbidden = error.status == 403
                log.warning("pods get no priority classes: %s", error)
                return False
        self._used_at[name] = clock.monotonic_s()
        return True

    def is_missing(self, text: str) -> bool:
        """Whether a pod is refused because its class was removed, by another master.

        The class is made again when it is needed next.
        """
        match = _MISSING.search(text)
        if match is None or match[1] not in self._used_at:
            return False
        del self._used_at[match[1]]
        return True

    async def remove_unused(self, used: Collection[str]) -> None:
        """Remove the classes of this master that no pod has had for ten minutes.

        Args:
            used: those that pods have at present.

        Raises:
            Unreachable: the API server does not answer.
        """
        now = clock.monotonic_s()
        query = {"labelSelector": f"{names.CLUSTER}={self._cluster_id}"}
        try:
            listed = await self._api.call("GET", _PATH, query=query)
            for item in listed.get("items") or ():
                name = str(item["metadata"]["name"])
                # One of an earlier leader counts from now on.
                since = self._used_at.setdefault(name, now)
                if name in used:
                    self._used_at[name] = now
                elif now - since >= UNUSED_S:
                    del self._used_at[name]
                    await self._api.call("DELETE", f"{_PATH}/{name}")
        except KubernetesRefused as error:
            log.debug("unused priority classes stay: %s", error)
