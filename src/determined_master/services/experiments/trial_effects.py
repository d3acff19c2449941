"""Effects of trials: requesting slots, preempting, reporting to the experiment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.aggregates.trials import TRIAL
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.experiment.messages import DetachedTrialMoved, TrialEnded
from determined_master.domain.ids import ExperimentId, TrialId
from determined_master.domain.trial import messages as trial
from determined_master.engine.causes import CarriedOut
from determined_master.records.experiments import ExperimentRow
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.queue.request_effects import (
    ask_for_room,
    ask_to_leave,
    end_at_once,
)
from determined_master.store.batch_loader import BatchLoader
from determined_master.store.experiments import experiments, trials

if TYPE_CHECKING:
    import asyncpg

    from determined_master.engine import EffectContext, Engine
    from determined_master.services.cluster.pools import Pools


class TrialEffects:
    """Carries out the effects of trials."""

    def __init__(self, engine: Engine, db: asyncpg.Pool, tokens: TaskTokens, pools: Pools) -> None:
        self._engine = engine
        self._db = db
        self._tokens = tokens
        self._pools = pools
        self._trials = BatchLoader(self._fetch_trials)
        self._experiments = BatchLoader(self._fetch_experiments)

    def register(self) -> None:
        """Register the handlers with the engine."""
        handlers = self._engine.handlers
        handlers.register(trial.RequestAllocation, self.request_allocation)
        handlers.register(trial.PreemptAllocation, ask_to_leave)
        handlers.register(trial.KillAllocation, end_at_once)
        handlers.register(trial.ReportTrialEnd, self.report_trial_end)
        handlers.register(trial.ReportDetachedState, self.report_detached_state)

    async def request_allocation(
        self, effect: trial.RequestAllocation, ctx: EffectContext
    ) -> None:
        """Store the allocation with its tokens' hashes and let it wait for slots."""
        row = await self._trials.find(int(ctx.aggregate_id))
        if row is None:
            raise RuntimeError(f"trial {ctx.aggregate_id} has no row")
        experiment = await self._experiments.find(row.experiment_id)
        if experiment is None:
            raise RuntimeError(f"experiment {row.experiment_id} has no row")
        now = clock.now()
        request = _request(row, experiment, now, effect.excluded_agents)
        shortage = self._find_shortage(request)
        if shortage and effect.follows_failure and self._pools.refuses_large:
            failed = trial.TrialEffectFailed(
                effect="request_allocation", error=shortage, allocation_id=effect.allocation_id
            )
            await ctx.post(TRIAL, TrialId(int(ctx.aggregate_id)), failed)
            return
        if shortage:
            event = trial.RoomLacked(reason=shortage)
            cause = CarriedOut(ctx.effect_id, "room")
            await self._engine.post(TRIAL, TrialId(int(ctx.aggregate_id)), event, cause=cause)
        await ask_for_room(ctx, self._tokens, effect.allocation_id, experiment.user_id, request)

    def _find_shortage(self, request: alloc.AllocationRequest) -> str | None:
        """Why a trial that excludes agents cannot be placed."""
        if not request.excluded_agents:
            return None
        return self._pools.find_shortage(
            request.pool,
            request.slots,
            is_single_node=request.is_single_node,
            excluded=request.excluded_agents,
        )

    async def report_trial_end(self, effect: trial.ReportTrialEnd, ctx: EffectContext) -> None:
        """Report a closed trial to the experiment, and through it to the search."""
        event = TrialEnded(request_id=effect.request_id, end=effect.end)
        await ctx.post(EXPERIMENT, ExperimentId(effect.experiment_id), event)

    async def report_detached_state(
        self, effect: trial.ReportDetachedState, ctx: EffectContext
    ) -> None:
        """Report the state of a detached trial to its experiment."""
        event = DetachedTrialMoved(before=effect.before, after=effect.after)
        await ctx.post(EXPERIMENT, ExperimentId(effect.experiment_id), event)

    async def _fetch_trials(self, ids: Sequence[int]) -> dict[int, trials.TrialRow]:
        async with self._db.acquire() as conn:
            return {row.id: row for row in await trials.list_trials(conn, ids)}

    async def _fetch_experiments(self, ids: Sequence[int]) -> dict[int, ExperimentRow]:
        async with self._db.acquire() as conn:
            found = [await experiments.find_experiment(conn, i) for i in ids]
        return {row.id: row for row in found if row is not None}


def _request(
    row: trials.TrialRow,
    experiment: ExperimentRow,
    now: datetime,
    excluded: tuple[str, ...],
) -> alloc.AllocationRequest:
    config = experiment.typed
    resources = config.resources
    return alloc.AllocationRequest(
        task_id=row.task_id,
        task_type="TRIAL",
        name=f"Trial {row.id} (Experiment {row.experiment_id})",
        job_id=experiment.job_id,
        pool=experiment.resource_pool,
        slots=resources.slots_per_trial,
        submitted_at=experiment.started_at,
        is_preemptible=True,
        preemption_timeout_s=float(config.preemption_timeout_s),
        is_single_node=resources.is_single_node,
        priority=resources.priority,
        weight=float(resources.weight),
        max_slots=resources.max_slots,
        position=experiment.queue_position,
        requested_at=now,
        excluded_agents=excluded,
        trial_id=row.id,
        experiment_id=row.experiment_id,
        user_id=experiment.user_id,
        proxy_ports=config.containers.proxy_ports,
    )
