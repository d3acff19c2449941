"""Use cases of checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.access.rules import may_read
from determined_master.domain.config.sections.storage import checked_storage
from determined_master.domain.errors import (
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
)
from determined_master.domain.ids import checked_uuid
from determined_master.records.checkpoints import CheckpointRow
from determined_master.records.stories import ThingWithStory
from determined_master.services.models.registered import check_unregistered
from determined_master.services.updates.live.news import LiveNews
from determined_master.store.checkpoints import checkpoints as rows
from determined_master.store.checkpoints import gc as gc_tasks
from determined_master.store.experiments import lookups
from determined_master.store.tasks import tasks
from determined_wire.bounds import MAX_STEPS

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn


MAX_BYTES = 2**53
"""Of a checkpoint: 8 PiB. A trial's size is the sum over its checkpoints."""


class CheckpointReport(msgspec.Struct, frozen=True, kw_only=True):
    """A task's report of a checkpoint that it has stored."""

    uuid: str
    task_id: str
    allocation_id: str | None
    state: str
    reported_at: datetime | None
    resources: Mapping[str, int]
    metadata: Mapping[str, Any]
    storage_id: int | None


class Checkpoints:
    """Checkpoints of all trials."""

    def __init__(self, db: asyncpg.Pool, news: LiveNews | None = None) -> None:
        """`news` gets the trials whose checkpoints change."""
        self._db = db
        self._news = news or LiveNews()

    async def report(self, caller: Caller, report: CheckpointReport) -> None:
        """Store a checkpoint's record; a repeated report changes nothing.

        Raises:
            InvalidArgument: the UUID, the steps or a size make no sense. NotFound: unknown task.
            PermissionDenied: its storage was not given to its run.
        """
        access.may(caller, "report", "task")
        steps = report.metadata.get("steps_completed", 0)
        if type(steps) not in (int, float) or not 0 <= steps <= MAX_STEPS:
            raise InvalidArgument(
                f"checkpoint {report.uuid}: metadata.steps_completed is {steps!r}, "
                f"it must be a number from 0 to {MAX_STEPS}"
            )
        _check_sizes(report.uuid, report.resources)
        async with self._db.acquire() as conn, conn.transaction():
            owner = await tasks.find_owner(conn, report.task_id)
            if owner is None:
                raise NotFound(f"task '{report.task_id}' not found")
            given = report.storage_id
            if given is not None and not await rows.has_storage(conn, owner.trial_id, given):
                raise PermissionDenied(
                    f"checkpoint {report.uuid}: storage {given} was not given to its run: start "
                    "the run with its storage (POST /api/v1/runs/start), and report the id that "
                    "this returns"
                )
            new = rows.NewCheckpoint(
                uuid=checked_uuid(report.uuid),
                task_id=report.task_id,
                allocation_id=report.allocation_id,
                trial_id=owner.trial_id,
                experiment_id=owner.experiment_id,
                state=report.state,
                reported_at=report.reported_at or clock.now(),
                steps=int(steps),
                resources=dict(report.resources),
                metadata=dict(report.metadata),
                storage_id=report.storage_id,
            )
            await rows.insert_checkpoint(conn, new)
        self._publish(owner.trial_id, owner.experiment_id)

    async def get(self, caller: Caller, uuid: str) -> CheckpointRow:
        """One checkpoint; a task sees its experiment's and the one its trial starts from."""
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            row = await rows.find_checkpoint(conn, checked_uuid(uuid))
            if row is None or not await _is_seen(conn, caller, row):
                raise NotFound(f"checkpoint '{uuid}' not found")
        return row

    async def uuids_of(
        self,
        caller: Caller,
        *,
        trial_id: int | None = None,
        experiment_id: int | None = None,
        states: Sequence[str] = (),
        sort: str = "reported_at",
        metric: str | None = None,
        newest_first: bool = False,
    ) -> list[str]:
        """UUIDs of a trial's or experiment's checkpoints, by a validation metric if named.

        Raises:
            NotFound: there is no such trial or experiment.
        """
        access.may(caller, "read", "experiment")
        kind: ThingWithStory = "trial" if trial_id is not None else "experiment"
        owner = trial_id if trial_id is not None else experiment_id
        async with self._db.acquire() as conn:
            if not await lookups.exists(conn, kind, str(owner)):
                raise NotFound(f"{kind} '{owner}' not found")
            return await rows.list_uuids(
                conn,
                trial_id=trial_id,
                experiment_id=experiment_id,
                states=states,
                sort=sort,
                metric=metric,
                newest_first=newest_first,
            )

    async def list_some(self, uuids: Sequence[str]) -> list[CheckpointRow]:
        """The checkpoints that `uuids_of` has listed, in that order; deleted ones are left out."""
        async with self._db.acquire() as conn:
            found = await rows.list_by_uuids(conn, uuids)
        return [found[uuid] for uuid in uuids if uuid in found]

    async def replace_metadata(
        self, caller: Caller, uuid: str, metadata: Mapping[str, Any]
    ) -> CheckpointRow:
        """Replace a checkpoint's metadata."""
        access.may(caller, "edit", "experiment")
        async with self._db.acquire() as conn:
            if not await rows.update_metadata(conn, checked_uuid(uuid), dict(metadata)):
                raise NotFound(f"checkpoint '{uuid}' not found")
        return await self.get(caller, uuid)

    async def patch(self, caller: Caller, left: Mapping[str, Mapping[str, int]]) -> None:
        """Record the remaining files of checkpoints: fewer, or none.

        A GC task may report only checkpoints that it was started to delete, a trial those of its
        experiment.

        Raises:
            NotFound: there is no such checkpoint, or the task may not report it.
            InvalidArgument: it is registered, or a size makes no sense.
            FailedPrecondition: a trial reported it, and another experiment starts from it.
        """
        access.may(caller, "edit", "experiment")
        await self._check_scope(caller, left)
        for uuid, resources in left.items():
            _check_sizes(uuid, resources)
            async with self._db.acquire() as conn:
                row = await rows.find_checkpoint(conn, checked_uuid(uuid))
                if row is None:
                    raise NotFound(f"checkpoint '{uuid}' not found")
                state = "PARTIALLY_DELETED" if resources else "DELETED"
                if resources:
                    is_known = row.state != "DELETED" and dict(resources) == row.resources
                else:
                    is_known = row.state == "DELETED"
                if is_known:
                    continue
                await check_unregistered(conn, [row.uuid])
                remaining = dict(resources) or row.resources
                await rows.update_resources(conn, row.uuid, remaining, state)
            self._publish(row.trial_id, row.experiment_id)

    def _publish(self, trial_id: int | None, experiment_id: int | None) -> None:
        """The sums of checkpoints have changed."""
        if trial_id is not None:
            self._news.trial(trial_id, experiment_id)

    async def _check_scope(self, caller: Caller, uuids: Iterable[str]) -> None:
        if caller.scope is None:
            return
        experiment_id = caller.scope.experiment_id
        asked = [checked_uuid(uuid) for uuid in uuids]
        async with self._db.acquire() as conn:
            if caller.scope.trial_id is None:
                row = await gc_tasks.find_gc_task(conn, caller.scope.task_id)
                own = set(row.uuids) if row is not None else set()
                used: Mapping[str, int] = {}
            else:
                stored = await gc_tasks.list_stored(conn, uuids=asked)
                own = {c.uuid for c in stored if c.experiment_id == experiment_id}
                used = await gc_tasks.list_sources(conn, asked, outside_of=experiment_id)
        for uuid in asked:
            if uuid not in own:
                raise NotFound(f"checkpoint '{uuid}' not found")
        for uuid, user in used.items():
            raise FailedPrecondition(
                f"checkpoint {uuid} cannot be deleted: experiment {user} starts from it; delete "
                "that experiment first"
            )

    async def storage_id(self, caller: Caller, trial_id: int, config: Mapping[str, Any]) -> int:
        """The id of a storage configuration, which the trial's reports may then name.

        Equal configurations have the same id.

        Raises:
            InvalidArgument: with every problem of the configuration.
        """
        access.may(caller, "report", "task")
        storage = checked_storage(config)
        async with self._db.acquire() as conn, conn.transaction():
            storage_id = await rows.upsert_storage(conn, storage)
            await rows.insert_trial_storage(conn, trial_id, storage_id)
        return storage_id


def _check_sizes(uuid: str, resources: Mapping[str, int]) -> None:
    negative = next((path for path, size in resources.items() if size < 0), None)
    if negative is not None:
        raise InvalidArgument(
            f"checkpoint {uuid}: the file {negative!r} has {resources[negative]} bytes, "
            "it must have 0 or more"
        )
    if sum(resources.values()) > MAX_BYTES:
        raise InvalidArgument(
            f"checkpoint {uuid}: its files have more than {MAX_BYTES} bytes together: "
            "report their real sizes"
        )


async def _is_seen(conn: Conn, caller: Caller, row: CheckpointRow) -> bool:
    scope, source = caller.scope, None
    if scope is None:
        return True
    if scope.trial_id is not None:
        source = await rows.find_source(conn, scope.trial_id)
    return may_read(scope, row.uuid, row.experiment_id, source)
