"""The order of a pool's queue."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from decimal import Context, Decimal
from operator import attrgetter
from typing import NamedTuple

from determined_master.domain.schedule.priorities import urgency
from determined_master.domain.schedule.view import RequestView, Rules, RunningView, position_of

Position = int | Decimal
Rank = tuple[int, Position]
"""Priority and position, which order jobs. Smaller is ahead."""
QueueKey = tuple[int, Position, datetime, datetime, str]
"""Orders any two requests."""

_EXACT = Context(prec=200)
"""Halving a gap of a microsecond 600 times is still exact."""


SMALLER_FIRST = Rules()
_asked_at = attrgetter("requested_at")


def rank(one: RequestView | RunningView) -> Rank:
    """The rank of a request's job in a pool of agents; all requests of a job share it."""
    position = one.position
    return one.priority, position_of(one.submitted_at) if position is None else position


def queue_key(request: RequestView, rules: Rules = SMALLER_FIRST) -> QueueKey:
    """The order of waiting requests: by urgency, then by position, then by age.

    Source: scheduling-and-provisioning a.1, a.2.
    """
    position = request.position
    return (
        urgency(request.priority, rules.priorities),
        position_of(request.submitted_at) if position is None else position,
        request.submitted_at,
        request.requested_at,
        request.allocation_id,
    )


age_key = attrgetter("submitted_at", "requested_at", "allocation_id")
"""The order of waiting requests by age: the job's submission, the request, the id."""


class QueueOrder(NamedTuple):
    """Members of one priority in order; some are moved ahead of their place in the queue."""

    order: list[RequestView]
    early: frozenset[str]
    """Ids of requests that are served before another that is ahead of them in the queue."""


def moved_ahead(members: Sequence[RequestView], waiting: Sequence[RequestView]) -> QueueOrder:
    """Move each starving member ahead of the first member that was requested after it.

    Args:
        members: all of one priority, in the order of the queue.
        waiting: those of them that must not be passed any more, in the same order.
    """
    if not waiting:
        return QueueOrder(list(members), frozenset())
    # Stable: members that were requested at the same instant keep the order of the queue.
    drawn = sorted(waiting, key=_asked_at)
    since = list(map(_asked_at, drawn))
    order: list[RequestView] = []
    served: set[str] = set()
    early: set[str] = set()
    begin = 0
    for n, request in enumerate(members):
        if since[begin] < request.requested_at:
            end = bisect_left(since, request.requested_at, begin)
            jumps = _others(drawn[begin:end], served)
            order += jumps
            ids = [r.allocation_id for r in jumps]
            early.update(ids)
            served.update(ids)
            begin = end
            if begin == len(drawn):
                order += _others(members[n:], served)
                break
        if request.allocation_id not in served:
            served.add(request.allocation_id)
            order.append(request)
    return QueueOrder(order, frozenset(early))


def _others(requests: Sequence[RequestView], served: set[str]) -> list[RequestView]:
    return [r for r in requests if r.allocation_id not in served]


def between(ahead: Position | None, behind: Position | None) -> Decimal:
    """A position between two neighbours; None at an end of the queue.

    Raises:
        ValueError: there is no neighbour, or no number between them.
    """
    if ahead is None and behind is None:
        raise ValueError("a position needs a neighbour")
    if ahead is None or behind is None:
        return _EXACT.add(ahead, 1) if ahead is not None else _EXACT.subtract(behind or 0, 1)
    middle = _EXACT.divide(_EXACT.add(ahead, behind), 2)
    if not ahead < middle < behind:
        raise ValueError("there is no room between two neighbours")
    return middle
