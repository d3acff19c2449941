"""Effects that delete: checkpoints that are not kept, and experiments with all they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain import ids
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.config.masking import without_storage_keys
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.queue.request_effects import ask_for_room
from determined_master.store.checkpoints import gc as rows
from determined_master.store.checkpoints import origins
from determined_master.store.experiments import experiments, removal

if TYPE_CHECKING:
    import asyncpg

    from determined_master.engine import EffectContext, Engine
    from determined_master.services.checkpoints.gc import CheckpointGc
    from determined_master.store.db import Conn

REMOVAL_S = 900.0
"""Enough for the rows of a large search; an interrupted removal continues where it stopped."""


class GcEffects:
    """Carries out what ends with something deleted."""

    def __init__(
        self,
        engine: Engine,
        db: asyncpg.Pool,
        tokens: TaskTokens,
        checkpoint_gc: CheckpointGc,
        aux_pool: str,
    ) -> None:
        self._engine = engine
        self._db = db
        self._tokens = tokens
        self._checkpoint_gc = checkpoint_gc
        self._aux_pool = aux_pool

    def register(self) -> None:
        """Register the handlers with the engine."""
        handlers = self._engine.handlers
        handlers.register(exp.CloseExperiment, self.close_experiment)
        handlers.register(exp.PlanDeletion, self.plan_deletion)
        handlers.register(exp.StartGc, self.start_collection)
        handlers.register(exp.RemoveExperiment, self.remove_experiment, timeout_s=REMOVAL_S)

    async def close_experiment(self, effect: exp.CloseExperiment, ctx: EffectContext) -> None:
        """Delete the checkpoints that the experiment's policy does not keep."""
        await self._checkpoint_gc.at_end(int(ctx.aggregate_id), ctx)

    async def plan_deletion(self, effect: exp.PlanDeletion, ctx: EffectContext) -> None:
        """Find out which files the experiment has left."""
        await self._checkpoint_gc.for_deletion(
            int(ctx.aggregate_id), ctx, with_deleted=effect.with_deleted
        )

    async def start_collection(self, effect: exp.StartGc, ctx: EffectContext) -> None:
        """Ask for a place to run the task that deletes; it needs no slots."""
        async with self._db.acquire() as conn:
            row = await rows.find_gc_task(conn, effect.task_id)
        if row is None:
            raise RuntimeError(f"the collection {effect.task_id} has no row")
        now = clock.now()
        allocation_id = ids.allocation_id(ids.TaskId(row.task_id), effect.run)
        request = alloc.AllocationRequest(
            task_id=row.task_id,
            task_type="CHECKPOINT_GC",
            name=f"Checkpoint GC (Experiment {row.experiment_id})",
            job_id=row.job_id,
            pool=self._aux_pool,
            slots=0,
            submitted_at=now,
            requested_at=now,
            is_single_node=True,
            experiment_id=row.experiment_id,
            user_id=row.user_id,
        )
        await ask_for_room(ctx, self._tokens, allocation_id, row.user_id, request)

    async def remove_experiment(self, effect: exp.RemoveExperiment, ctx: EffectContext) -> None:
        """Delete all rows of the experiment; its own goes with the event."""
        experiment_id = int(ctx.aggregate_id)
        if await self._checkpoint_gc.has_more(experiment_id):
            await self._checkpoint_gc.for_deletion(experiment_id, ctx)
            return
        async with self._db.acquire() as conn:
            stored = await rows.list_stored(conn, experiment_id=experiment_id)
            uuids = [c.uuid for c in stored]
            heirless = [c.uuid for c in await rows.list_heirless(conn, experiment_id)]
            kept = list(await rows.list_kept(conn, uuids, outside_of=experiment_id))
            await self._keep_origins(conn, experiment_id, kept)
            is_more = True
            while is_more:
                async with conn.transaction():
                    is_more = await removal.remove_trials(conn, experiment_id, kept)
            async with conn.transaction():
                await removal.remove_rest(conn, experiment_id, kept)
                await removal.remove_heirless(conn, heirless)
        await ctx.post(EXPERIMENT, ExperimentId(int(ctx.aggregate_id)), exp.ExperimentRemoved())

    async def _keep_origins(self, conn: Conn, experiment_id: int, uuids: list[str]) -> None:
        """Store what registered checkpoints say of their training, which is deleted next."""
        row = await experiments.find_experiment(conn, experiment_id) if uuids else None
        if row is None:
            return
        code = await experiments.find_model_digest(conn, experiment_id)
        shown, digest = without_storage_keys(row.config), code[0] if code else None
        async with conn.transaction():
            await origins.keep_origins(conn, experiment_id, uuids, shown=shown, digest=digest)
