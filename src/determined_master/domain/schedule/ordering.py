"""Who is ahead of whom in a pool's queue."""

from __future__ import annotations

from datetime import datetime
from decimal import Context, Decimal
from operator import attrgetter

from determined_master.domain.priorities import urgency
from determined_master.domain.schedule.view import RequestView, Rules, RunningView, position_of

Position = int | Decimal
Rank = tuple[int, Position]
"""Priority and position: what decides between jobs. Smaller is ahead."""
Key = tuple[int, Position, datetime, datetime, str]
"""Decides between any two requests."""

_EXACT = Context(prec=200)
"""Halving a gap of a microsecond 600 times is still exact."""


SMALLER_FIRST = Rules()


def rank(one: RequestView | RunningView) -> Rank:
    """The place of a request's job among agents; all requests of a job share it."""
    position = one.position
    return one.priority, position_of(one.submitted_at) if position is None else position


def queue_key(request: RequestView, rules: Rules = SMALLER_FIRST) -> Key:
    """The order of waiting requests: most urgent first, then by position, then by age.

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


def between(ahead: Position | None, behind: Position | None) -> Decimal:
    """A position between two neighbours; None where there is no neighbour.

    Raises:
        ValueError: there is none on either side, or no room between them.
    """
    if ahead is None and behind is None:
        raise ValueError("a position needs a neighbour")
    if ahead is None or behind is None:
        return _EXACT.add(ahead, 1) if ahead is not None else _EXACT.subtract(behind or 0, 1)
    middle = _EXACT.divide(_EXACT.add(ahead, behind), 2)
    if not ahead < middle < behind:
        raise ValueError("there is no room between two neighbours")
    return middle
