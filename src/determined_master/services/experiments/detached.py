"""Use cases of detached trials: programs outside the cluster make, run and report them."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec

from determined_master import clock, entropy
from determined_master.aggregates.trials import TRIAL
from determined_master.domain.access import rules as access
from determined_master.domain.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound
from determined_master.domain.ids import TrialId
from determined_master.domain.states import LEAVING
from determined_master.domain.trial import messages as trial
from determined_master.engine.causes import Occurrence, OnlyOnce
from determined_master.store.checkpoints import checkpoints
from determined_master.store.experiments import detached as rows
from determined_master.store.experiments import experiments, trials

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.records.experiments import ExperimentRow
    from determined_master.store.db import Conn

SILENT_AFTER = timedelta(minutes=5)
MAX_EXTERNAL_ID_CHARACTERS = 512
MAX_AT_ONCE = 500
NOTED_AGAIN_AFTER_S = 30.0
"""A report is a sign of life, too; one is written down so often at most."""
MAX_NOTED = 20_000
_SAFE_IN_PATHS = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class RunStart(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that a program needs about the run that it starts."""

    run_id: int
    latest_checkpoint: str | None = None
    steps_completed: int = 0


class Detached:
    """Trials that the cluster does not run."""

    def __init__(self, engine: Engine, db: asyncpg.Pool) -> None:
        self._engine = engine
        self._db = db
        self._doors: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
        self._noted: OrderedDict[int, float] = OrderedDict()

    async def create_trial(
        self,
        caller: Caller,
        experiment_id: int,
        hparams: Mapping[str, Any],
        external_id: str | None = None,
    ) -> int:
        """Make a trial of a detached experiment; one name given outside is one trial.

        Returns:
            The trial's id.

        Raises:
            NotFound: there is no such experiment.
            FailedPrecondition: the cluster runs its trials, or it is being deleted.
            InvalidArgument: the name cannot be used.
        """
        access.may(caller, "create", "trial")
        if external_id is not None and not 0 < len(external_id) <= MAX_EXTERNAL_ID_CHARACTERS:
            raise InvalidArgument(
                f"the external trial id has {len(external_id)} characters: it needs 1 to "
                f"{MAX_EXTERNAL_ID_CHARACTERS}"
            )
        experiment = await self._experiment(experiment_id)
        if external_id is None:
            return await self._create(experiment, hparams, None)
        # One after the other: the second of two at once finds the trial of the first.
        async with self._doors.setdefault((experiment_id, external_id), asyncio.Lock()):
            known = await self._find(experiment_id, external_id)
            if known is not None:
                return known
            try:
                return await self._create(experiment, hparams, external_id)
            except Aborted:
                # The same request came through another process and was first.
                known = await self._find(experiment_id, external_id)
                if known is None:
                    raise
                return known

    async def find_by_name(
        self, caller: Caller, external_experiment_id: str, external_trial_id: str
    ) -> int:
        """The id of a trial by the names that its program gave.

        Raises:
            NotFound: there is none.
        """
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            experiment_id = await rows.find_experiment_id(conn, external_experiment_id)
            if experiment_id is None:
                raise NotFound(f"experiment with external id '{external_experiment_id}' not found")
            found = await rows.find_trial_id(conn, experiment_id, external_trial_id)
        if found is None:
            raise NotFound(
                f"trial with external id '{external_trial_id}' of experiment {experiment_id} "
                "not found"
            )
        return found

    async def start(self, caller: Caller, trial_id: int, *, resumes: bool) -> RunStart:
        """Begin the trial's next run; only its latest run may report metrics.

        Args:
            caller: the caller.
            trial_id: of a detached trial, in whatever state.
            resumes: whether it continues from its latest checkpoint; otherwise it starts over, and
                its reports replace those of earlier runs.
        """
        row = await self._trial(caller, trial_id)
        if row.experiment_state in LEAVING:
            raise FailedPrecondition(
                f"experiment {row.experiment_id} is {row.experiment_state}: its trials cannot run"
            )

        async def store(conn: Conn) -> None:
            await rows.reopen_task(conn, trial_id)
            await rows.update_activity(conn, trial_id, clock.now())

        cause = Occurrence("start", entropy.new_uuid())
        event = trial.DetachedRunStarted()
        await self._engine.post(TRIAL, TrialId(trial_id), event, cause=cause, within=store)
        async with self._db.acquire() as conn:
            after = await rows.find_trial(conn, trial_id)
            found = await checkpoints.find_resume_point(conn, trial_id) if resumes else None
        if after is None:
            raise NotFound(f"trial '{trial_id}' not found")
        uuid, steps = found or (None, 0)
        return RunStart(run_id=after.run_id, latest_checkpoint=uuid, steps_completed=steps)

    async def report(
        self, caller: Caller, trial_id: int, state: trial.DetachedState | None
    ) -> None:
        """Accept the state that a trial's program reports; without a state it is a sign of life.

        Raises:
            NotFound: there is no such trial.
            FailedPrecondition: the cluster runs it, or it has ended and cannot become that.
        """
        row = await self._trial(caller, trial_id)
        await self.note_life(trial_id)
        if state is not None and state != row.state:
            await self._post(trial_id, state)

    async def note_life(self, trial_id: int) -> None:
        """Note that a detached trial was heard of; one that was only silent runs again."""
        async with self._db.acquire() as conn:
            state = await rows.update_activity(conn, trial_id, clock.now())
        if state == "ERROR":
            await self._post(trial_id, None)

    async def note_report(self, trial_id: int) -> None:
        """The same for one that has reported something, which may be often."""
        now = clock.monotonic_s()
        if now - self._noted.get(trial_id, -NOTED_AGAIN_AFTER_S) < NOTED_AGAIN_AFTER_S:
            return
        self._noted[trial_id] = now
        self._noted.move_to_end(trial_id)
        if len(self._noted) > MAX_NOTED:
            self._noted.popitem(last=False)
        await self.note_life(trial_id)

    async def end_silent(self, now: datetime) -> int:
        """Take running trials for failed that were silent for five minutes; how many."""
        async with self._db.acquire() as conn:
            found = await rows.list_silent(conn, since=now - SILENT_AFTER, limit=MAX_AT_ONCE)
        for silent in found:
            await self._engine.post(
                TRIAL,
                TrialId(silent.id),
                trial.DetachedFellSilent(since=silent.last_activity_at),
                cause=Occurrence("silent", silent.last_activity_at.isoformat()),
            )
        return len(found)

    async def _post(self, trial_id: int, state: trial.DetachedState | None) -> None:
        event = trial.DetachedStateReported(state=state)
        cause = Occurrence("reported", entropy.new_uuid())
        await self._engine.post(TRIAL, TrialId(trial_id), event, cause=cause)

    async def _trial(self, caller: Caller, trial_id: int) -> rows.DetachedTrial:
        async with self._db.acquire() as conn:
            row = await rows.find_trial(conn, trial_id)
        if row is None:
            raise NotFound(f"trial '{trial_id}' not found")
        access.may(caller, "report", "task", owner_id=row.owner_id)
        if not row.is_detached:
            raise FailedPrecondition(
                f"trial {trial_id} is run by the cluster: only the program of an unmanaged trial "
                "may start it or say how it goes"
            )
        return row

    async def _experiment(self, experiment_id: int) -> ExperimentRow:
        async with self._db.acquire() as conn:
            row = await experiments.find_experiment(conn, experiment_id)
        if row is None:
            raise NotFound(f"experiment '{experiment_id}' not found")
        if not row.unmanaged:
            raise FailedPrecondition(
                f"experiment {experiment_id} is run by the cluster: trials can only be added to "
                "unmanaged experiments"
            )
        if row.state in LEAVING:
            raise FailedPrecondition(
                f"experiment {experiment_id} is {row.state}: it takes no more trials"
            )
        return row

    async def _find(self, experiment_id: int, external_id: str) -> int | None:
        async with self._db.acquire() as conn:
            return await rows.find_trial_id(conn, experiment_id, external_id)

    async def _create(
        self, experiment: ExperimentRow, hparams: Mapping[str, Any], external_id: str | None
    ) -> int:
        async with self._db.acquire() as conn:
            [trial_id] = await trials.next_trial_ids(conn, 1)
        request_id = str(entropy.new_uuid())
        is_safe = external_id is not None and _SAFE_IN_PATHS.fullmatch(external_id)
        task_id = f"{experiment.id}.{external_id if is_safe else request_id}"
        new = trials.NewTrial(
            id=trial_id,
            experiment_id=experiment.id,
            request_id=request_id,
            task_id=task_id,
            hparams=dict(hparams),
            seed=experiment.typed.seed,
            job_id=experiment.job_id,
            user_id=experiment.user_id,
            started_at=clock.now(),
            external_id=external_id,
        )

        async def store(conn: Conn) -> None:
            await trials.insert_trials(conn, [new])

        event = trial.TrialDetached(
            trial_id=trial_id,
            experiment_id=experiment.id,
            request_id=request_id,
            task_id=task_id,
        )
        await self._engine.post(
            TRIAL, TrialId(trial_id), event, cause=OnlyOnce("created"), within=store
        )
        return trial_id
