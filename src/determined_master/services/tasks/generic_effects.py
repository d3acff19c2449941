"""Effects of generic tasks: requesting slots, requesting an exit, ending a run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.generic_task import messages as task
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.queue.request_effects import (
    ask_for_room,
    ask_to_leave,
    end_at_once,
)
from determined_master.store.tasks import generic_tasks

if TYPE_CHECKING:
    from determined_master.engine import EffectContext, Engine
    from determined_master.store.db import Database


class GenericTaskEffects:
    """Carries out the effects of generic tasks."""

    def __init__(self, engine: Engine, db: Database, tokens: TaskTokens) -> None:
        self._engine = engine
        self._db = db
        self._tokens = tokens

    def register(self) -> None:
        """Register the handlers with the engine."""
        handlers = self._engine.handlers
        handlers.register(task.RequestRun, self.request_run)
        handlers.register(task.PreemptRun, ask_to_leave)
        handlers.register(task.KillRun, end_at_once)

    async def request_run(self, effect: task.RequestRun, ctx: EffectContext) -> None:
        """Store the allocation with its tokens' hashes and let it wait for slots."""
        async with self._db.acquire() as conn:
            row = await generic_tasks.find_generic_task(conn, ctx.aggregate_id)
        if row is None:
            raise RuntimeError(f"the generic task {ctx.aggregate_id} has no row")
        request = _request(row, clock.now(), is_preemptible=effect.is_preemptible)
        await ask_for_room(ctx, self._tokens, effect.allocation_id, row.user_id, request)


def _request(
    row: generic_tasks.GenericTaskRow, now: datetime, *, is_preemptible: bool
) -> alloc.AllocationRequest:
    config = row.typed
    return alloc.AllocationRequest(
        task_id=row.id,
        task_type="GENERIC",
        name=f"Generic Task {row.id}",
        job_id=row.job_id,
        pool=config.resource_pool,
        slots=config.slots,
        submitted_at=row.started_at,
        is_preemptible=is_preemptible,
        preemption_timeout_s=float(config.preemption_timeout_s),
        is_single_node=config.is_single_node,
        priority=config.priority,
        weight=config.weight,
        max_slots=config.max_slots,
        position=row.queue_position,
        requested_at=now,
        user_id=row.user_id,
        proxy_ports=config.containers.proxy_ports,
    )
