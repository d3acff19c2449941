"""Use cases of trials that use others' checkpoints, and of their reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.ids import checked_uuid
from determined_master.records.models import TrialSource
from determined_master.services.access.guard import Claim
from determined_master.services.models.service import get_model
from determined_master.store.checkpoints import checkpoints
from determined_master.store.experiments import trial_sources as rows
from determined_master.store.experiments import trials
from determined_master.store.metrics import metrics
from determined_master.store.models import versions as model_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.records.metrics import StoredReport
    from determined_master.services.access.guard import Guard


TYPES = ("INFERENCE", "FINE_TUNING")
MAX_REPORTS = 20_000


class TrialSources:
    """Which trials use which checkpoints, by what their code said."""

    def __init__(self, db: asyncpg.Pool, guard: Guard) -> None:
        self._db = db
        self._guard = guard

    async def report(self, caller: Caller, source: TrialSource) -> None:
        """Note that a trial uses a checkpoint; a task may say so of its own trial.

        Raises:
            NotFound: no such trial, checkpoint, or version of the model; for a task's token also a
                checkpoint that its owner does not see.
            InvalidArgument: one of model and version is missing, or the UUID is none.
        """
        access.may(caller, "report", "task")
        scope = caller.scope
        if scope is not None and scope.trial_id != source.trial_id:
            raise NotFound(f"trial '{source.trial_id}' not found")
        if source.type not in TYPES:
            raise InvalidArgument(
                f"trialSourceInfoType is {source.type}: use one of "
                + ", ".join(f"TRIAL_SOURCE_INFO_TYPE_{name}" for name in TYPES)
            )
        if (source.model_id is None) is not (source.model_version is None):
            raise InvalidArgument("model id and model version must be given together, or neither")
        checked = msgspec.structs.replace(source, checkpoint=checked_uuid(source.checkpoint))
        if scope is not None:
            claim = Claim("checkpoint", [checked.checkpoint], "read", "checkpoint")
            owner = await self._guard.as_owner(caller)
            if owner.rights is not None and not owner.is_admin:
                await self._guard.check(owner, [claim])
        async with self._db.acquire() as conn:
            if await trials.find_trial(conn, source.trial_id) is None:
                raise NotFound(f"trial '{source.trial_id}' not found")
            if await checkpoints.find_checkpoint(conn, checked.checkpoint) is None:
                raise NotFound(f"checkpoint '{checked.checkpoint}' not found")
            if source.model_id is not None and source.model_version is not None:
                version = source.model_version
                if await model_versions.find_version(conn, source.model_id, version) is None:
                    raise NotFound(f"version {version} for model {source.model_id} not found")
            await rows.upsert_source(conn, checked)

    async def of_checkpoint(
        self, caller: Caller, uuid: str, type_: str | None, group: str | None
    ) -> list[StoredReport]:
        """Metrics reported by the trials that use a checkpoint.

        Raises:
            NotFound: no such checkpoint.
            InvalidArgument: it is too much for one answer.
        """
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            if await checkpoints.find_checkpoint(conn, checked_uuid(uuid)) is None:
                raise NotFound(f"checkpoint '{uuid}' not found")
            ids = await rows.list_users_of_checkpoint(conn, uuid, type_)
        return await self._reports(caller, ids, group)

    async def of_version(
        self, caller: Caller, model: tuple[str, int], type_: str | None, group: str | None
    ) -> list[StoredReport]:
        """The same for a version, given as its model's name and its number. Raises NotFound."""
        access.may(caller, "read", "model")
        name, version = model
        async with self._db.acquire() as conn:
            row = await get_model(conn, name)
            if await model_versions.find_version(conn, row.id, version) is None:
                raise NotFound(f'version {version} for model "{name}" not found')
            ids = await rows.list_users_of_version(conn, row.id, version, type_)
        return await self._reports(caller, ids, group)

    async def _reports(
        self, caller: Caller, trial_ids: Sequence[int], group: str | None
    ) -> list[StoredReport]:
        """Reports of those of the trials that the caller sees."""
        found: list[StoredReport] = []
        seen = await self._guard.seen(caller, "trial", [str(i) for i in trial_ids])
        for trial_id in (i for i in trial_ids if str(i) in seen):
            after: int | None = 0
            while after is not None:
                async with self._db.acquire() as conn:
                    page = await metrics.list_reports(conn, trial_id, group or None, after=after)
                found += page
                after = page[-1].id if len(page) == metrics.PAGE else None
                if len(found) > MAX_REPORTS:
                    raise InvalidArgument(
                        f"these trials have more than {MAX_REPORTS} reports: ask for one "
                        "metricGroup, or read the trials one by one from "
                        "/api/v1/trials/metrics/trial_metrics"
                    )
        return found
