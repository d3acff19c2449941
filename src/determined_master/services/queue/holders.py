"""Whose tasks an explanation names: people know names and owners, not ids of allocations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.domain.schedule.why import Why
    from determined_master.pools.live import LiveAllocations


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is ahead in the queue, or whose slots become free."""

    name: str
    """Such as `Trial 3 (Experiment 1)`."""
    user_id: int
    task_id: str
    trial_id: int | None
    experiment_id: int | None


Holders = dict[str, Holder]
"""By the id of the allocation."""


def holders_of(why: Why, live: LiveAllocations) -> Holders:
    """The tasks that an explanation names; those whose ids are hidden have no holder."""
    ids = (*(a.allocation_id for a in why.ahead), *(n.allocation_id for n in why.next))
    return {one.id: _holder(one) for one in _live(ids, live)}


def _live(ids: Iterable[str], live: LiveAllocations) -> Iterable[Allocation]:
    return (one for id in ids if id and (one := live.find(id)) is not None)


def _holder(allocation: Allocation) -> Holder:
    request = allocation.request
    return Holder(
        name=request.name,
        user_id=request.user_id,
        task_id=request.task_id,
        trial_id=request.trial_id,
        experiment_id=request.experiment_id,
    )
