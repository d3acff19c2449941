"""Asking for a place to run: the same for tasks of every kind."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.ids import AllocationId
from determined_master.engine import Inserting, Rows
from determined_master.services.access.task_tokens import TaskTokens, token_hash
from determined_master.store.tasks import allocations

if TYPE_CHECKING:
    from determined_master.domain.allocation.runs import RunOrder
    from determined_master.engine import EffectContext, Engine

USER_TOKEN_LIFE = timedelta(days=7)
REQUEST_S = 5.0
ALLOCATIONS = Inserting(allocations.insert_allocations)
"""Writes the rows of allocations that are requested at the same time."""


async def ask_for_room(
    ctx: EffectContext,
    tokens: TaskTokens,
    allocation_id: str,
    user_id: int,
    request: alloc.AllocationRequest,
) -> None:
    """Store the allocation with its tokens' hashes and let it wait for its slots.

    Args:
        ctx: of the effect that this closes.
        user_id: whose token its containers get.
    """
    requested_at = request.requested_at or clock.now()
    new = allocations.NewAllocation(
        id=allocation_id,
        task_id=request.task_id,
        pool=request.pool,
        slots=request.slots,
        token_hash=token_hash(tokens.session_token(allocation_id)),
        user_id=user_id,
        user_token_hash=token_hash(tokens.user_token(allocation_id)),
        requested_at=requested_at,
        token_expires_at=requested_at + USER_TOKEN_LIFE,
    )
    event = alloc.AllocationRequested(allocation_id=allocation_id, request=request)
    await ctx.post(ALLOCATION, AllocationId(allocation_id), event, within=Rows(ALLOCATIONS, new))


async def wait_for_request(engine: Engine, allocation_id: str) -> None:
    """Return once the allocation is stored, within `REQUEST_S`.

    Scripts of 0.38.1 read the allocations of a task as soon as its creation is answered.
    """
    with contextlib.suppress(TimeoutError):
        await engine.wait_for(ALLOCATION, AllocationId(allocation_id), _is_stored, REQUEST_S)


def _is_stored(_: alloc.Allocation) -> bool:
    return True


async def ask_to_leave(effect: RunOrder, ctx: EffectContext) -> None:
    """Ask an allocation to save its work and exit."""
    event = alloc.PreemptRequested(reason=effect.reason)
    await ctx.post(ALLOCATION, AllocationId(effect.allocation_id), event)


async def end_at_once(effect: RunOrder, ctx: EffectContext) -> None:
    """End an allocation at once."""
    event = alloc.KillRequested(reason=effect.reason)
    await ctx.post(ALLOCATION, AllocationId(effect.allocation_id), event)
