"""Changing the place of jobs in their queues, and moving them to other pools."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from determined_master.domain.access import rules as access
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.config.policies.rules import check_change
from determined_master.domain.errors import (
    DetError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from determined_master.domain.schedule.ordering import between
from determined_master.domain.states import TERMINAL
from determined_master.services.configs.policies import policies_of
from determined_master.services.queue.job_facts import JobFacts
from determined_master.services.queue.job_queue import JobQueue
from determined_master.store.experiments import experiments
from determined_master.store.queue import job_queue as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.cluster.pool_bindings import PoolBindings
    from determined_master.services.cluster.pools import Pools
    from determined_master.services.queue.job_terms import JobTermsSync
    from determined_master.store.db import Conn, Database


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one job: exactly one of the others is not None."""

    job_id: str
    priority: int | None = None
    weight: float | None = None
    pool: str | None = None
    ahead_of: str | None = None
    behind_of: str | None = None


class _Place(msgspec.Struct, frozen=True):
    """What of an experiment's row changes."""

    resources: dict[str, Any]
    pool: str
    position: Decimal | None


class JobChanges:
    """Changes jobs: writes the rows first, then updates live requests."""

    def __init__(
        self,
        db: Database,
        queue: JobQueue,
        pools: Pools,
        bindings: PoolBindings,
        terms: JobTermsSync,
        *,
        is_strict: bool = False,
    ) -> None:
        """`is_strict`: changing places needs a permission of its own."""
        self._is_strict = is_strict
        self._db = db
        self._queue = queue
        self._pools = pools
        self._bindings = bindings
        self._terms = terms

    async def apply(self, caller: Caller, changes: Sequence[JobChange]) -> None:
        """Apply changes one by one; those that can be made are, whatever becomes of the others.

        Raises:
            DetError: the error of the one that failed; InvalidArgument with all texts when
                several did.
        """
        access.may(caller, "configure" if self._is_strict else "control", "queue")
        failures: list[DetError] = []
        for change in changes:
            try:
                await self._apply(caller, change)
            except DetError as error:
                failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            texts = ", ".join(error.text for error in failures)
            raise InvalidArgument(f"encountered the following errors: {texts}")

    async def _apply(self, caller: Caller, change: JobChange) -> None:
        job = await self._queue.find(change.job_id)
        missing = f"job {change.job_id} not found"
        access.may_see(caller, "task", job.workspace_id, missing)
        _check(change, job)
        anchor = change.ahead_of if change.ahead_of is not None else change.behind_of
        moved: tuple[int, Decimal] | None = None
        if anchor is not None:
            moved = await self._between(caller, job, anchor, is_ahead=change.ahead_of is not None)
        if change.pool is not None:
            self._check_pool(change.pool, job)
        if job.type != "EXPERIMENT":
            access.may_control(caller, "task", job)
            await self._change_task(job, _terms(job, change, moved))
            return
        async with self._db.acquire() as conn, conn.transaction():
            experiment_id = int(job.entity_id)
            place = await self._place(conn, caller, experiment_id, change, moved)
            await rows.update_place(
                conn,
                experiment_id,
                resources=place.resources,
                pool=place.pool,
                position=place.position,
            )
        await self._terms.sync([job.job_id])

    async def _change_task(self, job: JobFacts, terms: alloc.JobTerms) -> None:
        now, then = (
            {"priority": t.priority, "weight": t.weight, "max_slots": t.max_slots}
            for t in (job.terms, terms)
        )
        changed = {key: value for key, value in then.items() if value != now[key]}
        async with self._db.acquire() as conn:
            policies = await policies_of(conn, job.workspace_id, "NTSC")
            order = self._pools.priorities(job.pool)
            check_change("resources", changed, policies, priorities=order)
            await rows.update_task_terms(
                conn,
                job.job_id,
                priority=terms.priority,
                weight=terms.weight,
                position=terms.position,
            )
        await self._terms.post(job.job_id, terms)

    async def _place(
        self,
        conn: Conn,
        caller: Caller,
        experiment_id: int,
        change: JobChange,
        moved: tuple[int, Decimal] | None,
    ) -> _Place:
        row = await experiments.lock_experiment(conn, experiment_id)
        if row is None or row.state in TERMINAL:
            raise NotFound(f"job {change.job_id} not found")
        access.may_control(caller, "experiment", row)
        resources: dict[str, Any] = dict(row.config["resources"])
        pool, position = row.resource_pool, row.queue_position
        if change.priority is not None and change.priority != resources["priority"]:
            resources["priority"] = change.priority
            position = None  # it joins its new equals by its age
        if change.weight is not None:
            resources["weight"] = change.weight
        if moved is not None:
            resources["priority"], position = moved
        if change.pool is not None:
            await self._bindings.check_available(conn, change.pool, row.workspace_id)
            self._pools.check_fit(
                change.pool,
                row.typed.resources.slots_per_trial,
                is_single_node=row.typed.resources.is_single_node,
            )
            pool, position = change.pool, None
            resources["resource_pool"] = pool
        changed = {k: v for k, v in resources.items() if v != row.config["resources"].get(k)}
        if "resource_pool" in changed:  # where other rules hold for the same priority
            changed["priority"] = resources["priority"]
        policies = await policies_of(conn, row.workspace_id)
        check_change("resources", changed, policies, priorities=self._pools.priorities(pool))
        return _Place(resources, pool, position)

    async def _between(
        self, caller: Caller, job: JobFacts, anchor: str, *, is_ahead: bool
    ) -> tuple[int, Decimal]:
        """Priority and position of the place before or behind another job."""
        if self._pools.priorities(job.pool) == "none":
            raise FailedPrecondition(
                f"pool {job.pool} shares its slots by weight (fair_share) and has no order: "
                "change the job's weight instead"
            )
        if anchor == job.job_id:
            raise InvalidArgument(f"job {anchor} cannot be moved ahead of or behind itself")
        queue, _ = await self._queue.list_jobs(caller, job.pool)
        others = [j for j in queue if j.job_id != job.job_id]
        found = next((n for n, j in enumerate(others) if j.job_id == anchor), None)
        if found is None:
            raise NotFound(f"job {anchor} not found in resource pool {job.pool}")
        equals = [j for j in others if j.priority == others[found].priority]
        place = equals.index(others[found])
        before = equals[place - 1] if is_ahead and place else None
        after = equals[place + 1] if not is_ahead and place + 1 < len(equals) else None
        ahead = before if is_ahead else equals[place]
        behind = equals[place] if is_ahead else after
        try:
            position = between(
                None if ahead is None else ahead.position,
                None if behind is None else behind.position,
            )
        except ValueError as error:
            raise FailedPrecondition(
                f"there is no room beside job {anchor}: change its priority and back first"
            ) from error
        return others[found].priority, position

    def _check_pool(self, pool: str, job: JobFacts) -> None:
        if not pool or pool not in self._pools.names:
            raise NotFound(
                f"invalid resource pool name {pool}: choose one of {', '.join(self._pools.names)}"
            )
        if job.type != "EXPERIMENT":
            raise FailedPrecondition(
                f"setting resource pool for job type {job.type} is not supported, only that "
                "of experiments: end it and start it there"
            )
        if pool == job.pool:
            raise InvalidArgument(
                f"resource pool is unchanged ({job.pool} == {pool}): name another"
            )


def _terms(job: JobFacts, change: JobChange, moved: tuple[int, Decimal] | None) -> alloc.JobTerms:
    """Terms of a job that is no experiment."""
    known = job.terms
    if moved is not None:
        return replace(known, priority=moved[0], position=moved[1])
    if change.priority is not None and change.priority != job.priority:
        return replace(known, priority=change.priority, position=None)
    return replace(known, weight=known.weight if change.weight is None else change.weight)


def _check(change: JobChange, job: JobFacts) -> None:
    given = [
        name
        for name in ("priority", "weight", "pool", "ahead_of", "behind_of")
        if getattr(change, name) is not None
    ]
    if len(given) != 1:
        text = "names nothing to change" if not given else f"has {', '.join(given)}"
        raise InvalidArgument(
            f"unexpected action: the update of job {job.job_id} {text}; give one of priority, "
            "weight, resourcePool, aheadOf, behindOf"
        )
    if change.priority is not None and not 1 <= change.priority <= 99:
        raise InvalidArgument(f"priority must be between 1 and 99, but found {change.priority}")
    if change.weight is not None and not 0 < change.weight < float("inf"):
        raise InvalidArgument(f"weight must be greater than 0, but found {change.weight}")
