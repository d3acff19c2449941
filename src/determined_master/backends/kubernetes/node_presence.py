"""Reports nodes that are ready as agents, and those that stay away as lost."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.ports.kubernetes import PodEvents

log = logging.getLogger(__name__)


class NodePresence:
    """The nodes of one cluster while its master leads."""

    def __init__(
        self,
        options: ClusterOptions,
        events: PodEvents,
        nodes: NodeCache,
        pods: PodCache,
        wait_s: float,
    ) -> None:
        """
        Args:
            options: of the cluster.
            events: takes new and lost nodes.
            nodes: as they are known.
            pods: of this master.
            wait_s: how long a lost node may take to return.
        """
        self._options = options
        self._events = events
        self._nodes = nodes
        self._pods = pods
        self._wait_s = wait_s
        self._joined: set[str] = set()
        self._away: dict[str, float] = {}
        """By node that is not ready or does not exist: the seconds until it is given up."""

    @property
    def has_joined(self) -> bool:
        """Whether a node is reported and not away."""
        return bool(self._joined)

    def begin(self, expected: Iterable[str]) -> None:
        """Nothing is known but the nodes that run containers according to the database."""
        self._joined.clear()
        self._nodes.set_reachable(is_reachable=False)
        self._away = dict.fromkeys(expected, self._wait_s)

    def note_outage(self) -> None:
        """The cluster is not followed: each node may disappear unseen."""
        for name in self._joined:
            self._away.setdefault(name, self._wait_s)
        self._joined.clear()
        self._nodes.set_reachable(is_reachable=False)

    async def update(self) -> None:
        """Report new nodes, and record those that are not ready any more."""
        self._nodes.set_reachable(is_reachable=True)
        ready = {s.id: s for s in self._nodes.snapshots() if s.is_connected}
        for name in self._joined - ready.keys():
            self._joined.discard(name)
            if not self._nodes.has_left(name):
                self._away[name] = self._wait_s
        for name, snapshot in ready.items():
            self._away.pop(name, None)
            if name in self._joined:
                continue
            reports = self._pods.reports_on(name)
            keep = await self._events.agent_joined(snapshot, reports)
            self._joined.add(name)
            for report in reports:
                if report.container_id not in keep:
                    self._release(report.container_id, report.state == "TERMINATED")

    async def tick(self, passed_s: float) -> None:
        """Report nodes that were away for too long, and end their pods.

        Raises Unreachable, Refused.
        """
        for name, left_s in list(self._away.items()):
            self._away[name] = left_s - passed_s
            if left_s - passed_s <= 0:
                del self._away[name]
                reason = f"it was not ready for {self._wait_s:g} s"
                log.warning("a node is lost", extra={"node": name, "reason": reason})
                await self._events.agent_lost(name, reason)
                self._pods.abandon(name)
                await self._pods.lose(name.removeprefix(self._options.node_prefix), reason)

    def _release(self, container_id: str, is_over: bool) -> None:
        """Release a pod that is not needed: it was given up, or its end is stored."""
        self._pods.forget(container_id)
        if not is_over:
            self._pods.abandon_one(container_id)
