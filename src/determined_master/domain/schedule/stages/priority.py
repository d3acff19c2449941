"""The order of a pool with priorities: higher-priority requests go first.

Requests are served in the order of their priorities, then of their positions. A request that
cannot start lets others of its own priority pass, but not lower-priority ones: these start only
where preemption is on and they can be preempted (backfill).

A preempted task that will ask for slots again keeps its place in the queue, and slots that it
could use then are reserved for it. Otherwise a request behind it would start on them, and would be
preempted as soon as the task asks. Nobody is preempted for it before it asks.

Source: scheduling-and-provisioning b.3, b.4.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from determined_master.domain.schedule.fitting import Demand, demand_of
from determined_master.domain.schedule.ordering import moved_ahead, queue_key
from determined_master.domain.schedule.stages.planning import Planning, Turn
from determined_master.domain.schedule.view import RequestView


def order(planning: Planning) -> Planning:
    """One turn for each priority, the highest first."""
    if planning.requests:
        by_priority = groupby(_sorted(planning), key=attrgetter("priority"))
        planning.turns = [_turn(planning, list(equals)) for _, equals in by_priority]
    return planning


def _sorted(planning: Planning) -> Sequence[RequestView]:
    """The queue, with the preempted tasks that will ask again in their places."""
    view, requests = planning.view, planning.requests
    ordered = requests if view.is_sorted else sorted(requests, key=queue_key)
    if not planning.returning:
        return ordered
    queue = list(ordered)
    for one in planning.returning.values():
        insort(queue, one.next_request(view.now), key=queue_key)
    return queue


def _turn(planning: Planning, members: list[RequestView]) -> Turn:
    """Requests of one priority, with starving ones moved ahead of those that came later.

    A search that was submitted earlier may request trials for days. They are ahead of a
    waiting gang in the queue, and would pass it forever. A request that these agents could
    never hold comes last, so that it does not change the order of the others.
    """
    at = planning.starving_at
    # The check of `is_starving`, without a call for each request of a long queue.
    starving = [r for r in members if r.slots > 1 and r.requested_at <= at]
    if not starving:
        return Turn(requests=members)
    demands = map(Demand._make, set(map(demand_of, members)))
    unservable = {d for d in demands if not planning.capacity.could_hold(d)}
    servable, never = _divided(members, unservable)
    requests, early = moved_ahead(servable, _divided(starving, unservable)[0])
    return Turn(requests=requests + never, is_aged=early)


def _divided(
    members: list[RequestView], unservable: set[Demand]
) -> tuple[list[RequestView], list[RequestView]]:
    """The members with other demands, and those with these."""
    if not unservable:
        return members, []
    never = [r for r in members if demand_of(r) in unservable]
    return [r for r in members if demand_of(r) not in unservable], never
