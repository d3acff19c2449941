"""The pod specs of live allocations, read once for each kind of task of a job."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.pods.needs import PodNeeds, needs_of
from determined_master.domain.schedule.placing.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from determined_master.domain.allocation.messages import Allocation
    from determined_master.domain.pods.limit_ranges import ResourceDefaults
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports.orders import PodTerms

MAX_READS = 100
"""At a time, so that planning continues while a long queue is read."""
FRESH_S = 60.0
"""The namespace of a waiting task may change with the binding of its workspace."""

Key = tuple[str, str]
Read = Callable[["Allocation"], Awaitable["PodTerms | None"]]


class JobPodSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The pod spec of the tasks of one kind of a job, and their namespace."""

    digest: str
    """Equal for equal pod specs."""
    namespace: str
    pod_spec: Mapping[str, Any] | None
    secrets: int = 1
    """Of one pod."""
    topology: Topology | None = None


class PodSpecs:
    """Shared by the pools of one cluster."""

    def __init__(self, live: LiveAllocations, pools: frozenset[str], read: Read) -> None:
        """
        Args:
            live: all allocations.
            pools: those of the cluster.
            read: the terms of an allocation's pods, from the database.
        """
        self._live = live
        self._pools = pools
        self._read = read
        self._known: dict[Key, tuple[JobPodSpec, float]] = {}
        self._needs: dict[tuple[str, frozenset[str], str], tuple[ResourceDefaults, PodNeeds]] = {}

    async def refresh(self) -> bool:
        """Read the specs of new allocations, and again those of waiting ones from time to time.

        Returns:
            Whether some are still to be read.
        """
        wanted: dict[Key, Allocation] = {}
        for allocation in self._live.values():
            if allocation.request.pool in self._pools:
                key = _key(allocation)
                if key not in wanted or allocation.state == "PENDING":
                    wanted[key] = allocation
        self._known = {key: spec for key, spec in self._known.items() if key in wanted}
        now_s = clock.monotonic_s()
        missing = [key for key, one in wanted.items() if self._is_due(key, one, now_s)]
        missing.sort(key=lambda key: key in self._known)
        for key in missing[:MAX_READS]:
            terms = await self._read(wanted[key])
            spec = None if terms is None else terms.pod_spec
            namespace = "" if terms is None else terms.namespace
            digest = hashlib.sha256(msgspec.json.encode(spec, order="sorted")).hexdigest()
            made = JobPodSpec(
                digest=digest,
                namespace=namespace,
                pod_spec=spec,
                secrets=1 if terms is None else terms.secrets,
                topology=_topology_of(terms),
            )
            self._known[key] = made, now_s
        used = {spec.digest for spec, _ in self._known.values()}
        self._needs = {key: needs for key, needs in self._needs.items() if key[0] in used}
        return len(missing) > MAX_READS

    def find(self, allocation: Allocation) -> JobPodSpec | None:
        """The spec of an allocation's pods; None before it is read."""
        found = self._known.get(_key(allocation))
        return None if found is None else found[0]

    def needs(
        self, spec: JobPodSpec, without: frozenset[str], defaults: ResourceDefaults
    ) -> PodNeeds:
        """The needs of its pods.

        Args:
            spec: of the task.
            without: the resources that the platform sets.
            defaults: of its namespace.
        """
        key = spec.digest, without, spec.namespace
        found = self._needs.get(key)
        if found is None or found[0] is not defaults:
            needs = needs_of(spec.pod_spec, without=without, defaults=defaults)
            found = self._needs[key] = defaults, needs
        return found[1]

    def _is_due(self, key: Key, allocation: Allocation, now_s: float) -> bool:
        known = self._known.get(key)
        if known is None:
            return True
        return allocation.state == "PENDING" and now_s - known[1] > FRESH_S


def _key(allocation: Allocation) -> Key:
    return allocation.request.job_id, allocation.request.task_type


def _topology_of(terms: PodTerms | None) -> Topology | None:
    wanted = None if terms is None else terms.topology
    if wanted is None:
        return None
    return Topology(domain=wanted.domain, is_required=wanted.is_required)
