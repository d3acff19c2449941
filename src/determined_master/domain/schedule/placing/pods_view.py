"""The Kubernetes side of a pool at one instant: pods of requests, and load of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from determined_master.domain.pods.needs import PodNeeds
from determined_master.domain.pods.placement import ClusterLoads, Misfit
from determined_master.domain.pods.quantities import Amounts, total
from determined_master.domain.pods.quotas import exceeded, quota_uses
from determined_master.domain.schedule.kubernetes import split
from determined_master.domain.schedule.placing.topology import Topology
from determined_master.domain.schedule.view import PoolView, RequestView

Used = Mapping[str, Amounts]
Misfits = Mapping[str, Misfit]


class TaskPods(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one request; all of them are alike."""

    key: str
    """Equal for requests whose pods are alike."""
    needs: PodNeeds
    avoided: Misfits = {}
    """Nodes that did not take such a pod lately, by agent."""
    namespace: str = ""
    uses: Amounts = {}
    """Of quotas of its namespace, by all pods together."""
    topology: Topology | None = None
    """The domain that its pods share."""


class PodsView(msgspec.Struct, frozen=True, kw_only=True):
    """The Kubernetes side of a pool at one instant."""

    loads: ClusterLoads
    pods: Mapping[str, TaskPods]
    """By allocation. A request without an entry is not planned yet."""
    used: Callable[[], Used]
    """The requests of our own pods, by agent; called when something can start."""
    planned: Mapping[str, Amounts] = {}
    """By namespace: the use of quotas by pods that are planned and not created yet."""

    def quota(self, allocation_id: str, more: Amounts | None = None) -> str:
        """The quota that does not admit a request's pods, for people; empty when all do."""
        pods = self.pods[allocation_id]
        quotas = self.loads.quotas.get(pods.namespace)
        if not quotas:
            return ""
        return exceeded(quotas, pods.uses, more or self.planned.get(pods.namespace))


def with_requests(view: PoolView, pending: tuple[RequestView, ...]) -> PoolView:
    """The view with these requests, in the same order."""
    if len(pending) == len(view.pending) and all(map(_is, pending, view.pending)):
        return view
    return replace(view, pending=pending, jobs=None)


def with_slots(needs: PodNeeds, slots: int, loads: ClusterLoads) -> Amounts:
    """The requests of one pod that has so many slots."""
    if not slots:
        return needs.requests
    return total([needs.requests, {r: amount * slots for r, amount in loads.per_slot.items()}])


def uses_of(
    needs: PodNeeds, slots: int, most: int | None, loads: ClusterLoads, secrets: int = 1
) -> dict[str, Decimal]:
    """The use of quotas by all pods of a request.

    Args:
        needs: of one pod, without its slots.
        slots: of the request.
        most: slots of one pod; None without a limit.
        loads: has the requests of a slot.
        secrets: of one pod.
    """
    pods = len(split(slots, most) or (slots,))
    by_slots = {r: amount * slots for r, amount in loads.per_slot.items()}
    requests = total([*([needs.requests] * pods), by_slots])
    limits = total([*([needs.limits] * pods), by_slots])
    return quota_uses(requests, limits, pods, secrets * pods)


def _is(one: RequestView, other: RequestView) -> bool:
    return one is other
