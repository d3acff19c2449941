"""Effects of interactive tasks: asking for the slots of their only run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.interactive_task.messages import RequestOnlyRun
from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.records.tasks import InteractiveRow
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.containers.interactive_specs import own_proxy_ports
from determined_master.services.queue.request_effects import ask_for_room
from determined_master.store.tasks import interactive_tasks

if TYPE_CHECKING:
    from determined_master.engine import EffectContext, Engine
    from determined_master.store.db import Database


class InteractiveEffects:
    """Carries out the effects of interactive tasks; those of generic tasks end them."""

    def __init__(self, engine: Engine, db: Database, tokens: TaskTokens) -> None:
        self._engine = engine
        self._db = db
        self._tokens = tokens

    def register(self) -> None:
        """Register the handlers with the engine."""
        self._engine.handlers.register(RequestOnlyRun, self.request_only_run)

    async def request_only_run(self, effect: RequestOnlyRun, ctx: EffectContext) -> None:
        """Store the allocation with its tokens' hashes and let it wait for a place."""
        async with self._db.acquire() as conn:
            row = await interactive_tasks.find_interactive_task(conn, ctx.aggregate_id)
        if row is None:
            raise RuntimeError(f"the interactive task {ctx.aggregate_id} has no row")
        request = _request(row)
        await ask_for_room(ctx, self._tokens, effect.allocation_id, row.user_id, request)


def proxied_ports(row: InteractiveRow) -> tuple[ProxyPort, ...]:
    """The proxied ports of such a task: its own server first, then the configured ones."""
    own = own_proxy_ports(row.kind, row.port or 0)
    return (*own, *row.typed.containers.proxy_ports)


def _request(row: InteractiveRow) -> alloc.AllocationRequest:
    config = row.typed
    return alloc.AllocationRequest(
        task_id=row.id,
        task_type=row.kind,
        name=row.description,
        job_id=row.job_id,
        pool=config.resource_pool,
        slots=config.slots,
        submitted_at=row.started_at,
        is_preemptible=False,
        is_single_node=True,
        priority=config.priority,
        weight=config.weight,
        max_slots=config.max_slots,
        position=row.queue_position,
        user_id=row.user_id,
        proxy_ports=proxied_ports(row),
        requested_at=clock.now(),
    )
