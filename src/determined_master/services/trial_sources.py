"""Use cases of what trials work from, and what they found out about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain import access
from determined_master.domain.errors import InvalidArgument
from determined_master.services.checkpoints import checked_uuid
from determined_master.store import metrics
from determined_master.store import trial_sources as rows
from determined_master.store.trial_sources import TrialSource

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access import Caller
    from determined_master.services.checkpoints import Checkpoints
    from determined_master.services.trials import Trials

TYPES = ("INFERENCE", "FINE_TUNING")
MAX_REPORTS = 20_000


class TrialSources:
    """Links from trials to the checkpoints that they evaluate or start from."""

    def __init__(self, pool: asyncpg.Pool, trials: Trials, checkpoints: Checkpoints) -> None:
        self._pool = pool
        self._trials = trials
        self._checkpoints = checkpoints

    async def report(self, caller: Caller, source: TrialSource) -> None:
        """Store what a trial says that it works from; said again, it changes nothing.

        Raises:
            InvalidArgument: the type is none of `TYPES`. NotFound: no such trial or checkpoint.
        """
        access.may(caller, "report", "task")
        if source.type not in TYPES:
            raise InvalidArgument(
                f"trialSourceInfoType is {source.type}: use one of "
                + ", ".join(f"TRIAL_SOURCE_INFO_TYPE_{name}" for name in TYPES)
            )
        await self._trials.get(caller, source.trial_id)
        await self._checkpoints.get(caller, source.checkpoint_uuid)
        async with self._pool.acquire() as conn:
            await rows.upsert_source(conn, source)

    async def metrics_of(
        self, caller: Caller, checkpoint_uuid: str, *, type_: str | None, group: str | None
    ) -> list[metrics.StoredReport]:
        """What all trials that work from a checkpoint have reported, by trial.

        Raises:
            NotFound: no such checkpoint.
            InvalidArgument: it is too much for one answer.
        """
        await self._checkpoints.get(caller, checkpoint_uuid)
        types = TYPES if type_ is None else (type_,)
        found: list[metrics.StoredReport] = []
        async with self._pool.acquire() as conn:
            for trial_id in await rows.list_trials(conn, checked_uuid(checkpoint_uuid), types):
                after: int | None = 0
                while after is not None:
                    page = await metrics.list_reports(conn, trial_id, group, after=after)
                    found += page
                    after = page[-1].id if len(page) == metrics.PAGE else None
                    if len(found) > MAX_REPORTS:
                        raise InvalidArgument(
                            f"trials of checkpoint {checkpoint_uuid} have more than {MAX_REPORTS} "
                            "reports: ask for one metricGroup, or read the trials one by one from "
                            "/api/v1/trials/metrics/trial_metrics"
                        )
        return found
