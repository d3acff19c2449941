"""Effects of experiments: creating, stopping and signalling their trials."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec

from determined_master import clock
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.aggregates.trials import TRIAL
from determined_master.domain.config.sections.searcher import SearcherConfig
from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId, RequestId, TrialId, trial_task_id
from determined_master.domain.trial import messages as trial
from determined_master.engine import Deferred, Inserting, Posting, Rows
from determined_master.records.experiments import ExperimentRow
from determined_master.services.experiments.story.stories import REQUEST
from determined_master.store.checkpoints import checkpoints
from determined_master.store.checkpoints import gc as gc_tasks
from determined_master.store.experiments import experiments, trials

if TYPE_CHECKING:
    import asyncpg

    from determined_master.engine import EffectContext, Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.store.db import Conn

SIGNALS = 256
"""How many trials are signalled at a time."""
GROWTH_POLL_S = 5.0
"""A trial that gets slots wakes the growth; after a restart these are counted late."""


class ExperimentEffects:
    """Carries out the effects of experiments."""

    def __init__(
        self, engine: Engine, db: asyncpg.Pool, live: LiveAllocations, max_waiting_trials: int
    ) -> None:
        self._engine = engine
        self._db = db
        self._live = live
        self._max_waiting_trials = max_waiting_trials

    def register(self) -> None:
        """Register the handlers with the engine."""
        handlers = self._engine.handlers
        handlers.register_group(exp.CreateTrial, self.create_trials)
        handlers.register(exp.ContinueTrial, self.continue_trial)
        handlers.register(exp.StopTrial, self.stop_trial)
        handlers.register(exp.GrowSearch, self.grow_search)
        handlers.register(exp.SignalTrials, self.signal_trials)

    async def create_trials(self, orders: Sequence[tuple[exp.CreateTrial, EffectContext]]) -> None:
        """Store each trial and start its machine, in one transaction; ids follow the order."""
        experiment_id = int(orders[0][1].aggregate_id)
        request_ids = [effect.request_id for effect, _ in orders]
        async with self._db.acquire() as conn:
            row = await experiments.find_experiment(conn, experiment_id)
            known = await trials.list_known_ids(conn, experiment_id, request_ids)
            fresh = await trials.next_trial_ids(conn, len(orders) - len(known))
        if row is None:
            raise RuntimeError(f"experiment {experiment_id} has no row")
        ids = {
            **known,
            **dict(zip((r for r in request_ids if r not in known), fresh, strict=True)),
        }
        source = await self._source(row.typed.searcher)
        is_active = await self._is_active(experiment_id)

        async def create(effect: exp.CreateTrial, ctx: EffectContext) -> None:
            new = _new_trial(row, effect, ids[effect.request_id], source)
            created = trial.TrialCreated(
                trial_id=new.id,
                experiment_id=experiment_id,
                request_id=effect.request_id,
                task_id=new.task_id,
                max_restarts=row.typed.max_restarts,
                activate=is_active,
                user_id=row.user_id,
            )
            within = Rows(TRIALS, new, experiments=[experiment_id])
            await ctx.post(TRIAL, TrialId(new.id), created, within=within)

        results = await asyncio.gather(*(create(*o) for o in orders), return_exceptions=True)
        for result in results:
            if result is not None:
                raise result

    async def continue_trial(self, effect: exp.ContinueTrial, ctx: EffectContext) -> None:
        """Give the trial its next task and open it again, in one transaction."""
        experiment_id = int(ctx.aggregate_id)
        async with self._db.acquire() as conn:
            row = await experiments.find_experiment(conn, experiment_id)
            trial_id = await trials.find_trial_id(conn, experiment_id, effect.request_id)
            if row is None or trial_id is None:
                raise RuntimeError(f"trial {effect.request_id} to be continued does not exist")
            first, earlier = await trials.count_tasks(conn, trial_id)
        next_ = trials.NextTask(
            task_id=f"{first}-{earlier}",
            job_id=row.job_id,
            experiment_id=experiment_id,
            user_id=row.user_id,
            started_at=clock.now(),
            hparams=effect.hparams,
        )

        async def store(conn: Conn) -> None:
            await trials.insert_next_task(conn, trial_id, next_)

        continued = trial.TrialContinued(
            task_id=next_.task_id,
            max_restarts=row.typed.max_restarts,
            activate=await self._is_active(experiment_id),
        )
        await ctx.post(TRIAL, TrialId(trial_id), continued, within=store)

    async def stop_trial(self, effect: exp.StopTrial, ctx: EffectContext) -> None:
        """Stop a trial on behalf of the search."""
        async with self._db.acquire() as conn:
            trial_id = await trials.find_trial_id(conn, int(ctx.aggregate_id), effect.request_id)
        if trial_id is None:
            raise RuntimeError(f"trial {effect.request_id} to be stopped does not exist")
        await ctx.post(TRIAL, TrialId(trial_id), trial.TrialStopped())

    async def grow_search(self, effect: exp.GrowSearch, ctx: EffectContext) -> None:
        """Let the search create its next trials once few enough of them wait for slots."""
        id = ExperimentId(int(ctx.aggregate_id))
        state = await self._engine.read(EXPERIMENT, id)
        if state is not None and state.state == "ACTIVE":
            open_trials = state.trials_requested - state.trials_closed
            waiting = open_trials - self._live.count_placed(id)
            if waiting >= self._max_waiting_trials:
                reason = f"{waiting} trials of experiment {id} wait for slots"
                raise Deferred(reason, retry_s=GROWTH_POLL_S, topic=growth_topic(id))
        await ctx.post(EXPERIMENT, id, exp.SearchGrown())

    async def signal_trials(self, effect: exp.SignalTrials, ctx: EffectContext) -> None:
        """Signal every live trial; repeating it changes nothing."""
        experiment_id = int(ctx.aggregate_id)
        async with self._db.acquire() as conn:
            open_ids = await trials.list_open_trial_ids(conn, experiment_id)
            reason = await _with_trial_ids(conn, experiment_id, effect.reason)
        event = _signal(msgspec.structs.replace(effect, reason=reason))
        for start in range(0, len(open_ids), SIGNALS):
            outcomes = await self._engine.post_many(
                [
                    Posting(TRIAL, TrialId(trial_id), event, ctx.cause)
                    for trial_id in open_ids[start : start + SIGNALS]
                ]
            )
            for outcome in outcomes:
                if isinstance(outcome, Exception) and not isinstance(outcome, FailedPrecondition):
                    raise outcome

    async def _source(self, searcher: SearcherConfig) -> str | None:
        """The checkpoint that new trials start from: another trial's latest, or one by its UUID.

        Raises:
            RuntimeError: that trial has no checkpoint any more.
        """
        trial_id = searcher.source_trial_id
        if not trial_id:
            return searcher.source_checkpoint_uuid
        async with self._db.acquire() as conn:
            found = await checkpoints.find_resume_point(conn, int(trial_id))
        if found is None:
            raise RuntimeError(
                f"searcher.source_trial_id is {trial_id}, and trial {trial_id} has no checkpoint "
                "to start from"
            )
        return found[0]

    async def _is_active(self, experiment_id: int) -> bool:
        state: exp.Experiment | None = await self._engine.read(
            EXPERIMENT, ExperimentId(experiment_id)
        )
        return state is not None and state.state == "ACTIVE"


def growth_topic(experiment_id: int) -> str:
    """What the growth of a search waits for."""
    return f"growth of experiment {experiment_id}"


def _signal(effect: exp.SignalTrials) -> trial.TrialEvent:
    match effect.signal:
        case "activate":
            return trial.TrialActivated()
        case "pause":
            return trial.TrialPaused()
        case "cancel":
            return trial.TrialCanceled()
        case "kill":
            return trial.TrialKilled()
        case "error":
            return trial.TrialErred(reason=effect.reason)
        case _:
            assert_never(effect.signal)


async def _with_trial_ids(conn: Conn, experiment_id: int, reason: str) -> str:
    """The reason with ids of trials, which users know, in place of those of requests."""
    requests = sorted(set(REQUEST.findall(reason)))
    known = await trials.list_known_ids(conn, experiment_id, requests) if requests else {}
    return REQUEST.sub(lambda match: str(known.get(match[0], match[0])), reason)


async def _insert(conn: Conn, new: Sequence[trials.NewTrial]) -> None:
    for source in sorted({n.warm_start_checkpoint for n in new if n.warm_start_checkpoint}):
        await _hold(conn, source)
    await trials.insert_trials(conn, new)


async def _hold(conn: Conn, source: str) -> None:
    """Keep a trial's source from being deleted between its choice and the trial's row.

    Raises:
        RuntimeError: it was deleted in the meantime, or is about to be.
    """
    await gc_tasks.lock_checkpoints(conn, [source])
    if not await gc_tasks.is_to_stay(conn, source):
        raise RuntimeError(f"checkpoint {source}, which new trials start from, was deleted")


def _new_trial(
    row: ExperimentRow, effect: exp.CreateTrial, trial_id: int, source: str | None
) -> trials.NewTrial:
    return trials.NewTrial(
        id=trial_id,
        experiment_id=row.id,
        request_id=effect.request_id,
        task_id=trial_task_id(ExperimentId(row.id), RequestId(effect.request_id)),
        hparams=effect.hparams,
        seed=effect.seed,
        job_id=row.job_id,
        user_id=row.user_id,
        started_at=clock.now(),
        warm_start_checkpoint=source,
    )


TRIALS = Inserting(_insert)
"""Writes the rows of trials that are made at the same time."""
