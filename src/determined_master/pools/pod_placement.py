"""Plans a pool of a Kubernetes cluster by its nodes, its quotas and its tasks' pod specs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.pods.limit_ranges import NO_DEFAULTS
from determined_master.domain.pods.quantities import Amounts, total
from determined_master.domain.pods.quotas import freed_by_placeholders
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.kubernetes import split
from determined_master.domain.schedule.placing.node_demand import unmet_demand
from determined_master.domain.schedule.placing.pod_planner import PodPlanner
from determined_master.domain.schedule.placing.pods_view import (
    PodsView,
    TaskPods,
    uses_of,
    with_slots,
)
from determined_master.pools.occupancy import held
from determined_master.ports.kubernetes import NodeRequest

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.domain.pods.placement import ClusterLoads
    from determined_master.domain.schedule.plan import Plan
    from determined_master.domain.schedule.view import PoolView
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.pod_specs import PodSpecs
    from determined_master.ports.kubernetes import KubernetesCluster


COUNTED_AFTER = timedelta(seconds=5)
"""A pod that was planned earlier is created, or was refused: its quota counts it or never will."""


class PodPlacement:
    """One pool."""

    def __init__(
        self, pool: str, live: LiveAllocations, cluster: KubernetesCluster, specs: PodSpecs
    ) -> None:
        """
        Args:
            pool: its name.
            live: all allocations.
            cluster: where the pool's pods run.
            specs: of the tasks of the cluster's pools.
        """
        self._pool = pool
        self._live = live
        self._cluster = cluster
        self._specs = specs
        self._planner = PodPlanner()
        self._given: PodsView | None = None
        """Of the last plan."""

    async def read(self) -> bool:
        """Read pod specs that a plan needs; returns whether some are still to be read."""
        return await self._specs.refresh()

    def plan(self, view: PoolView) -> tuple[PoolView, Plan]:
        """The view with what excludes nodes for each request, and its plan."""
        self._given = None
        if view.rules.queue:
            return view, planner.plan(view)
        loads = self._cluster.loads()
        most = view.rules.max_slots_per_pod
        pods: dict[str, TaskPods] = {}
        alike: dict[tuple[str, str, int], TaskPods | None] = {}
        for request in view.pending:
            allocation = self._live.find(request.allocation_id)
            if allocation is None:
                continue
            kind = request.job_id, allocation.request.task_type, request.slots
            if kind not in alike:
                alike[kind] = self._pods_of(allocation, loads, most)
            made = alike[kind]
            if made is not None:
                pods[request.allocation_id] = made
        self._given = PodsView(
            loads=loads,
            pods=pods,
            used=self._used(loads),
            planned=self._planned(loads, most),
        )
        return self._planner.plan(view, self._given)

    def request_nodes(self, view: PoolView, plan: Plan) -> None:
        """Ask the cluster for nodes for the requests that a decision has left without room."""
        most = self._cluster.most_placeholders
        if not most or view.rules.queue:
            return  # pods in the cluster's queue are themselves what an autoscaler sees
        requests = []
        given = self._given if view.pending else None
        for demand in unmet_demand(view, plan, most, given):
            allocation = self._live.find(demand.allocation_id)
            spec = None if allocation is None else self._specs.find(allocation)
            if spec is not None:
                requests.append(
                    NodeRequest(
                        allocation_id=demand.allocation_id,
                        slots=demand.slots,
                        housed=demand.housed,
                        namespace=spec.namespace,
                        pod_spec=spec.pod_spec,
                    )
                )
        self._cluster.request_nodes(self._pool, tuple(requests))

    def _pods_of(
        self, allocation: Allocation, loads: ClusterLoads, most: int | None = None
    ) -> TaskPods | None:
        spec = self._specs.find(allocation)
        if spec is None:
            return None
        by_platform = loads.replaced | frozenset(loads.per_slot)
        without = by_platform if allocation.request.slots else frozenset()
        avoided = self._live.avoided_by(allocation.request.job_id)
        defaults = loads.defaults.get(spec.namespace, NO_DEFAULTS)
        needs = self._specs.needs(spec, without, defaults)
        parts = [spec.digest, spec.namespace if defaults is not NO_DEFAULTS else ""]
        return TaskPods(
            key=" ".join([*parts, allocation.request.job_id] if avoided else parts),
            needs=needs,
            avoided=avoided,
            namespace=spec.namespace,
            topology=spec.topology,
            uses=uses_of(needs, allocation.request.slots, most, loads, spec.secrets)
            if spec.namespace in loads.quotas
            else {},
        )

    def _planned(self, loads: ClusterLoads, most: int | None) -> dict[str, Amounts]:
        """The use of quotas by pods that the quotas may not count yet, by namespace.

        Less that of placeholders: they leave when their task starts.
        """
        parts: dict[str, list[Amounts]] = {}
        if not loads.quotas:
            return {}
        for allocation in self._live.values():
            is_new = allocation.state == "ASSIGNED" and _is_new(allocation)
            asked = None if is_new else self._cluster.nodes_asked(allocation.id)
            if not is_new and (asked is None or not asked.pods):
                continue
            made = self._pods_of(allocation, loads, most)
            if made is not None:
                uses = made.uses
                if asked is not None:
                    slots = split(allocation.request.slots, most) or ()
                    uses = freed_by_placeholders(uses, asked.pods, len(slots))
                parts.setdefault(made.namespace, []).append(uses)
        return {namespace: total(uses) for namespace, uses in parts.items()}

    def _used(self, loads: ClusterLoads) -> Callable[[], dict[str, Amounts]]:
        """The requests of the pods of all live allocations, counted at most once a plan."""
        known: list[dict[str, Amounts]] = []

        def count() -> dict[str, Amounts]:
            if not known:
                known.append(self._count(loads))
            return known[0]

        return count

    def _count(self, loads: ClusterLoads) -> dict[str, Amounts]:
        parts: dict[str, list[Amounts]] = {}
        for allocation in self._live.values():
            for container in held(allocation):
                if container.agent_id in loads.nodes:
                    made = self._pods_of(allocation, loads)
                    if made is not None:
                        asked = with_slots(made.needs, len(container.slot_ids), loads)
                        parts.setdefault(container.agent_id, []).append(asked)
        return {agent_id: total(amounts) for agent_id, amounts in parts.items()}


def _is_new(allocation: Allocation) -> bool:
    at = allocation.assigned_at
    return at is not None and clock.now() - at < COUNTED_AFTER
