"""Deleting checkpoints' files: by policy, on request, and with their experiment.

The files are deleted by tasks in the cluster, which reach the storage as trials do. This module
decides which, stores the order of each task, and notifies the experiment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock, entropy
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain.access import rules as access
from determined_master.domain.checkpoints import gc
from determined_master.domain.config.sections.storage import KeepCounts
from determined_master.domain.errors import (
    Aborted,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId, checked_uuid
from determined_master.domain.states import TERMINAL
from determined_master.engine.causes import Cause, Occurrence, UserRequest
from determined_master.records.checkpoints import CheckpointRow
from determined_master.services.access.guard import controlled
from determined_master.services.models.registered import check_unregistered
from determined_master.store.checkpoints import checkpoints
from determined_master.store.checkpoints import gc as rows
from determined_master.store.experiments import experiments

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import EffectContext, Engine
    from determined_master.store.db import Conn

EVERYTHING = ("**/*",)
MAX_WAIT_S = 60.0
"""For a deletion whose caller waits: its task may have to wait for an agent."""


class GcPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The checkpoints of one experiment that a GC task deletes."""

    experiment_id: int
    uuids_by_storage: Mapping[int | None, Sequence[str]]
    globs: Sequence[str] = EVERYTHING
    removes_tensorboard: bool = False
    is_deletion: bool = False
    spares_own: bool = True
    """Whether what trials of the experiment itself start from stays as well."""


class CheckpointGc:
    """Deletion of checkpoints."""

    def __init__(self, engine: Engine, db: asyncpg.Pool) -> None:
        self._engine = engine
        self._db = db

    async def preview(
        self, caller: Caller, experiment_id: int, policy: gc.SavePolicy
    ) -> tuple[list[CheckpointRow], str]:
        """The checkpoints that a policy would delete now, and its metric."""
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            experiment = await experiments.find_experiment(conn, experiment_id)
            if experiment is None:
                raise NotFound(f"experiment '{experiment_id}' not found")
            saved = await rows.list_saved(conn, experiment_id)
            garbage = set(gc.find_garbage(saved, policy))
            found = await checkpoints.list_by_uuids(conn, sorted(garbage))
        listed = [found[row.uuid] for row in saved if row.uuid in found]
        return listed, experiment.searcher_metric

    async def delete(self, caller: Caller, uuids: Sequence[str]) -> None:
        """Delete all files of checkpoints.

        Raises:
            NotFound: some do not exist; all of those are named.
            FailedPrecondition: another experiment starts from one, or one is registered.
        """
        await self.remove_files(caller, uuids, EVERYTHING)

    async def remove_files(
        self, caller: Caller, uuids: Sequence[str], globs: Sequence[str]
    ) -> None:
        """Delete the files of checkpoints that match a pattern; none only counts them again.

        Raises:
            InvalidArgument: a pattern or UUID cannot be used. NotFound, FailedPrecondition: as
                `delete`.
        """
        access.may(caller, "delete", "checkpoint")
        for glob in globs:
            if not glob or ".." in glob.split("/"):
                raise InvalidArgument(
                    f"the pattern {glob!r} is empty or leads out of the checkpoint"
                )
        asked = list(dict.fromkeys(checked_uuid(uuid) for uuid in uuids))
        if not asked:
            return
        async with self._db.acquire() as conn:
            stored = await rows.list_stored(conn, uuids=asked)
            _check_known(asked, stored)
            if globs:
                await _check_unused(conn, stored)
        for experiment_id, group in _by_experiment(stored).items():
            plan = GcPlan(
                experiment_id=experiment_id,
                uuids_by_storage=_by_storage(group),
                globs=globs,
                spares_own=False,
            )
            await self._post(plan, UserRequest(caller.user_id, entropy.new_uuid()))

    async def remove_tensorboard(self, caller: Caller, experiment_id: int) -> None:
        """Delete the TensorBoard files of an ended experiment; returns when they are deleted.

        Raises:
            NotFound: no checkpoint has that id. FailedPrecondition: it still writes them.
            Aborted: the task that deletes them has not ended within a minute. Clients do not
                repeat this error by themselves: each repetition would start one more task.
        """
        async with self._db.acquire() as conn:
            found = await experiments.find_experiment(conn, experiment_id)
        row = controlled(caller, found, experiment_id)
        if row.state not in TERMINAL:
            raise FailedPrecondition(
                f"experiment {experiment_id} is {row.state} and still writes TensorBoard files: "
                "let it end first"
            )
        plan = GcPlan(
            experiment_id=experiment_id, uuids_by_storage={None: ()}, removes_tensorboard=True
        )
        changed = asyncio.Event()
        stop = self._engine.feed.listen(
            EXPERIMENT, lambda _: changed.set(), id=ExperimentId(experiment_id)
        )
        try:
            [task_id] = await self._post(plan, UserRequest(caller.user_id, entropy.new_uuid()))
            async with asyncio.timeout(MAX_WAIT_S):
                while not await self._has_ended(task_id):
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            raise Aborted(
                f"the TensorBoard files of experiment {experiment_id} are not deleted after "
                f"{MAX_WAIT_S:.0f} s. The task {task_id} continues: 'det experiment story "
                f"{experiment_id}' shows when it ends"
            ) from None
        finally:
            stop()

    async def _has_ended(self, task_id: str) -> bool:
        async with self._db.acquire() as conn:
            return await rows.has_ended(conn, task_id)

    async def apply_policy(self, experiment_id: int) -> None:
        """Delete the checkpoints that the policy of an ended experiment does not keep."""
        plan = await self._garbage(experiment_id)
        if plan is not None:
            await self._post(plan, Occurrence("policy", entropy.new_uuid()))

    async def at_end(self, experiment_id: int, ctx: EffectContext) -> None:
        """The same for an experiment that has just ended."""
        plan = await self._garbage(experiment_id)
        if plan is not None:
            await self._post(plan, ctx.cause, ctx)

    async def for_deletion(
        self, experiment_id: int, ctx: EffectContext, *, with_deleted: bool = False
    ) -> None:
        """Delete everything that an experiment stored, and sources that only it used.

        Checkpoints from which others start, and registered ones, stay. If their experiment was
        deleted before, they are deleted with the last one that starts from them. `with_deleted`
        repeats deleted checkpoints: an interrupted task may have left their manifests.
        """
        async with self._db.acquire() as conn:
            own, heirless = await _doomed(conn, experiment_id, with_deleted=with_deleted)
            has_run = await rows.has_run(conn, experiment_id)
        groups = _by_storage(own) or ({None: []} if has_run else {})
        for storage_id, uuids in _by_storage(heirless).items():
            groups.setdefault(storage_id, []).extend(uuids)
        plan = GcPlan(
            experiment_id=experiment_id,
            uuids_by_storage=groups,
            removes_tensorboard=has_run,
            is_deletion=True,
            spares_own=False,
        )
        await self._post(plan, ctx.cause, ctx)

    async def has_more(self, experiment_id: int) -> bool:
        """Whether a deletion left out checkpoints that others no longer start from.

        Those others are deleted at the same time as often as not, with all of a project.
        """
        async with self._db.acquire() as conn:
            own, heirless = await _doomed(conn, experiment_id)
            collected = await rows.list_collected(conn, experiment_id)
        return any(c.uuid not in collected for c in [*own, *heirless])

    async def _garbage(self, experiment_id: int) -> GcPlan | None:
        async with self._db.acquire() as conn:
            experiment = await experiments.find_experiment(conn, experiment_id)
            if experiment is None or experiment.unmanaged:
                return None  # a detached one decides itself which checkpoints to keep
            saved = await rows.list_saved(conn, experiment_id)
            garbage = gc.find_garbage(saved, policy_of(experiment.typed.keep_counts))
            if not garbage:
                return None
            stored = await rows.list_stored(conn, uuids=garbage)
        return GcPlan(experiment_id=experiment_id, uuids_by_storage=_by_storage(stored))

    async def _post(
        self, plan: GcPlan, cause: Cause, ctx: EffectContext | None = None
    ) -> list[str]:
        """Store the plan's tasks and start them; returns their ids."""
        async with self._db.acquire() as conn:
            experiment = await experiments.find_experiment(conn, plan.experiment_id)
        if experiment is None:
            raise NotFound(f"experiment '{plan.experiment_id}' not found")
        now = clock.now()
        tasks = [
            rows.NewGcTask(
                task_id=f"{plan.experiment_id}.{entropy.new_uuid()}",
                job_id=str(entropy.new_uuid()),
                experiment_id=plan.experiment_id,
                user_id=experiment.user_id,
                started_at=now,
                storage_id=storage_id,
                uuids=uuids,
                globs=plan.globs,
                removes_tensorboard=plan.removes_tensorboard and number == 0,
            )
            for number, (storage_id, uuids) in enumerate(plan.uuids_by_storage.items())
        ]

        async def store(conn: Conn) -> None:
            own = None if plan.spares_own else plan.experiment_id
            for task in tasks:
                await rows.lock_checkpoints(conn, task.uuids)
                # Checked again: another may have started from one in the meantime.
                used = await rows.list_sources(conn, task.uuids, outside_of=own)
                uuids = [uuid for uuid in task.uuids if uuid not in used or not task.globs]
                await rows.insert_collection(conn, msgspec.structs.replace(task, uuids=uuids))

        event = exp.GcPlanned(
            task_ids=tuple(t.task_id for t in tasks), is_deletion=plan.is_deletion
        )
        await self._engine.post(
            EXPERIMENT,
            ExperimentId(plan.experiment_id),
            event,
            cause=cause,
            closes=None if ctx is None else ctx.effect_id,
            within=store,
        )
        return [task.task_id for task in tasks]


def policy_of(storage: KeepCounts) -> gc.SavePolicy:
    """The policy that a configuration's storage asks for."""
    return gc.SavePolicy(
        experiment_best=storage.save_experiment_best,
        trial_best=storage.save_trial_best,
        trial_latest=storage.save_trial_latest,
    )


async def _doomed(
    conn: Conn, experiment_id: int, *, with_deleted: bool = False
) -> tuple[list[rows.Stored], list[rows.Stored]]:
    """Checkpoints deleted with an experiment: its own, and those of experiments deleted before."""
    found = (
        await rows.list_stored(conn, experiment_id=experiment_id),
        await rows.list_heirless(conn, experiment_id),
    )
    uuids = [c.uuid for stored in found for c in stored]
    kept = await rows.list_kept(conn, uuids, outside_of=experiment_id)
    own, heirless = (
        [c for c in stored if c.uuid not in kept and (with_deleted or c.state != "DELETED")]
        for stored in found
    )
    return own, heirless


def _check_known(asked: Sequence[str], stored: Sequence[rows.Stored]) -> None:
    known = {c.uuid for c in stored}
    missing = [uuid for uuid in asked if uuid not in known]
    if missing:
        raise NotFound(f"checkpoints '{','.join(missing)}' not found")
    for checkpoint in stored:
        if checkpoint.experiment_id is None:
            raise FailedPrecondition(
                f"checkpoint {checkpoint.uuid} belongs to no experiment any more; other "
                "experiments start from it"
            )


async def _check_unused(conn: Conn, stored: Sequence[rows.Stored]) -> None:
    await check_unregistered(conn, [c.uuid for c in stored])
    for experiment_id, group in _by_experiment(stored).items():
        uuids = [c.uuid for c in group]
        for uuid, user in (await rows.list_sources(conn, uuids, outside_of=experiment_id)).items():
            raise FailedPrecondition(
                f"checkpoint {uuid} cannot be deleted: experiment {user} starts from it; delete "
                "that experiment first"
            )


def _by_experiment(stored: Iterable[rows.Stored]) -> dict[int, list[rows.Stored]]:
    groups: dict[int, list[rows.Stored]] = {}
    for checkpoint in stored:
        if checkpoint.experiment_id is not None:
            groups.setdefault(checkpoint.experiment_id, []).append(checkpoint)
    return groups


def _by_storage(stored: Iterable[rows.Stored]) -> dict[int | None, list[str]]:
    groups: dict[int | None, list[str]] = {}
    for checkpoint in stored:
        groups.setdefault(checkpoint.storage_id, []).append(checkpoint.uuid)
    return groups
