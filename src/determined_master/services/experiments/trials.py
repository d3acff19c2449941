"""Use cases of trials."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import entropy
from determined_master.aggregates.trials import TRIAL
from determined_master.domain.access import rules as access
from determined_master.domain.errors import FailedPrecondition, InvalidArgument, NotFound
from determined_master.domain.ids import TrialId
from determined_master.domain.states import TERMINAL, shown_state
from determined_master.domain.trial import messages as trial
from determined_master.engine.causes import Occurrence, UserRequest
from determined_master.records.checkpoints import CheckpointRow
from determined_master.records.experiments import WorkloadKey
from determined_master.records.metrics import StoredReport
from determined_master.services.updates.live.news import LiveNews
from determined_master.store.batch_loader import BatchLoader
from determined_master.store.checkpoints import checkpoints
from determined_master.store.experiments import lookups
from determined_master.store.experiments import trials as rows
from determined_master.store.experiments.workloads import list_keys
from determined_master.store.metrics import metrics

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.services.metrics.summaries import Summaries

MAX_STATUS_CHARACTERS = 1000


class TrialPage(msgspec.Struct, frozen=True, kw_only=True):
    """A trial with the related data that pages show."""

    row: rows.TrialRow
    best: StoredReport | None = None
    latest: StoredReport | None = None
    best_checkpoint: CheckpointRow | None = None
    task_ids: Sequence[str] = ()
    shown_state: str = "ACTIVE"


class Trials:
    """Trials of all experiments."""

    def __init__(
        self,
        engine: Engine,
        db: asyncpg.Pool,
        live: LiveAllocations,
        summaries: Summaries,
        news: LiveNews | None = None,
    ) -> None:
        """`news` gets what the engine does not publish."""
        self._news = news or LiveNews()
        self._engine = engine
        self._db = db
        self._live = live
        self._summaries = summaries
        self._gathering = BatchLoader(self.pages)

    async def get(self, caller: Caller, trial_id: int) -> TrialPage:
        """One trial with its best and latest validation and its best checkpoint."""
        access.may(caller, "read", "experiment")
        page = await self._gathering.find(trial_id)
        if page is None:
            raise NotFound(f"trial '{trial_id}' not found")
        return page

    async def ids_of(
        self,
        caller: Caller,
        experiment_id: int,
        states: Collection[str] = (),
        sort: str = "id",
        *,
        descending: bool = False,
    ) -> list[int]:
        """Ids of an experiment's trials in the order of one of `rows.SORTS`, else by id.

        Args:
            states: trials of other states are left out; stored and shown states both count.

        Raises:
            NotFound: there is no such experiment.
        """
        access.may(caller, "read", "experiment")
        key = sort if sort in rows.SORTS else "id"
        async with self._db.acquire() as conn:
            if await lookups.find_missing(conn, [experiment_id]) is not None:
                raise NotFound(f"experiment '{experiment_id}' not found")
            stored = await rows.list_states(conn, experiment_id, key, descending=descending)
        if not states and sort != "state":
            return [trial_id for trial_id, _ in stored]
        shown = {i: shown_state(state, self._live.states_of_trial(i)) for i, state in stored}
        if sort == "state":
            stored.sort(key=lambda trial: shown[trial[0]], reverse=descending)
        return [i for i, state in stored if not states or {state, shown[i]} & set(states)]

    async def kill(self, caller: Caller, trial_id: int) -> None:
        """End a trial at once; ending an ended one changes nothing."""
        page = await self.get(caller, trial_id)
        access.may(caller, "control", "experiment")
        if page.row.state in TERMINAL:
            return
        cause = UserRequest(caller.user_id, entropy.new_uuid())
        await self._engine.post(TRIAL, TrialId(trial_id), trial.TrialKilled(), cause=cause)

    async def report_early_exit(
        self, caller: Caller, trial_id: int, reason: trial.EarlyExitReason
    ) -> None:
        """User code says that the trial's hyperparameters make no sense."""
        access.may(caller, "report", "task")
        page = await self.get(caller, trial_id)
        if page.row.state in TERMINAL:
            raise FailedPrecondition(f"trial {trial_id} is in terminal state {page.row.state}")
        event = trial.EarlyExitReported(reason=reason)
        cause = Occurrence("early exit", page.row.run_id)
        await self._engine.post(TRIAL, TrialId(trial_id), event, cause=cause)

    async def report_progress(self, caller: Caller, trial_id: int, progress: float) -> None:
        """Store how far the trial is, 0 to 1."""
        access.may(caller, "report", "task")
        if not 0 <= progress <= 1:  # not a number fails this, too
            raise InvalidArgument(f"progress is {progress}: it must lie between 0 and 1")
        async with self._db.acquire() as conn:
            await rows.update_progress(conn, trial_id, progress)
        self._news.trial(trial_id)

    async def report_status(self, caller: Caller, trial_id: int, text: str) -> None:
        """Store the status that the trial's code reports."""
        access.may(caller, "report", "task")
        async with self._db.acquire() as conn:
            await rows.update_runner_state(conn, trial_id, text[:MAX_STATUS_CHARACTERS])
        self._news.trial(trial_id)

    async def metadata(self, caller: Caller, trial_id: int) -> dict[str, Any]:
        """The metadata that users have set on the run."""
        return (await self.get(caller, trial_id)).row.metadata or {}

    async def replace_metadata(
        self, caller: Caller, trial_id: int, metadata: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Replace the run's metadata.

        Raises:
            InvalidArgument: a key has one of the characters `$ . [ ]`.
        """
        access.may(caller, "report", "task")
        await self.get(caller, trial_id)
        _check_keys(metadata)
        async with self._db.acquire() as conn:
            await rows.update_metadata(conn, trial_id, dict(metadata))
        return dict(metadata)

    async def workload_keys(
        self, caller: Caller, trial_id: int, kinds: Sequence[str], *, newest_first: bool = False
    ) -> list[WorkloadKey]:
        """Reports that count and checkpoints of a trial, by steps and time, for `workloads`.

        Args:
            kinds: groups of reports, and `checkpoint`.
        """
        await self.get(caller, trial_id)
        async with self._db.acquire() as conn:
            return await list_keys(conn, trial_id, kinds, newest_first=newest_first)

    async def workloads(
        self, trial_id: int, keys: Sequence[WorkloadKey]
    ) -> list[StoredReport | CheckpointRow]:
        """The trials for these keys, in their order; missing ones are left out."""
        ids = [key for key in keys if isinstance(key, int)]
        uuids = [key for key in keys if isinstance(key, str)]
        async with self._db.acquire() as conn:
            reports = await metrics.list_some(conn, trial_id, ids) if ids else []
            saved = await checkpoints.list_by_uuids(conn, uuids) if uuids else {}
        found: dict[WorkloadKey, StoredReport | CheckpointRow] = {}
        found.update({row.id: row for row in reports})
        found.update(saved.items())
        return [found[key] for key in keys if key in found]

    async def task_ids(self, caller: Caller, trial_id: int) -> list[str]:
        """Ids of the trial's tasks, oldest first."""
        return list((await self.get(caller, trial_id)).task_ids)

    async def pages(self, trial_ids: Sequence[int]) -> dict[int, TrialPage]:
        """Trials by their ids; one that does not exist is left out."""
        # A summary may be written while its row is being read: then the row has the old one.
        unwritten = self._summaries.unwritten(trial_ids)
        async with self._db.acquire() as conn:
            found = await rows.list_trial_pages(conn, trial_ids)
            saved = [stored.row.id for stored in found if stored.row.checkpoint_count]
            best = await checkpoints.list_best(conn, saved) if saved else {}
        return {
            stored.row.id: TrialPage(
                row=self._with_summary(stored.row, is_old=stored.row.id in unwritten),
                best=stored.best,
                latest=stored.latest,
                best_checkpoint=best.get(stored.row.id),
                task_ids=stored.task_ids,
                shown_state=self._shown(stored.row),
            )
            for stored in found
        }

    def _with_summary(self, row: rows.TrialRow, *, is_old: bool) -> rows.TrialRow:
        """The row with the summary of now, which may not have been written yet."""
        text = self._summaries.find(row.id, also_written=is_old)
        return row if text is None else msgspec.structs.replace(row, summary_metrics=text)

    def _shown(self, row: rows.TrialRow) -> str:
        return shown_state(row.state, self._live.states_of_trial(row.id))


def _check_keys(metadata: Mapping[str, Any]) -> None:
    for key, value in metadata.items():
        if set(key) & set("$.[]"):
            raise InvalidArgument(
                f"metadata key {key!r} has one of the characters $ . [ ]: choose another name"
            )
        if isinstance(value, Mapping):
            _check_keys(value)
