"""What holds a waiting job, from the recorded decision of its pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.domain.schedule.reasons import count
from determined_master.domain.schedule.view import PoolView
from determined_master.domain.schedule.why import Why, explain
from determined_master.records.access import Thing
from determined_master.services.queue.holders import Holders, holders_of
from determined_master.services.queue.job_facts import is_uuid
from determined_master.store.experiments.lookups import list_usernames
from determined_master.store.queue import job_queue as rows
from determined_master.store.workspaces.owners import find_workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.domain.machines.status import MachineStatus
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.loop import PoolDecision
    from determined_master.ports.kubernetes import ClusterTrouble, NodesAsked
    from determined_master.store.db import Database

MIN_PROGRESS = 0.02
"""Below that, progress gives no estimate of the end."""
OTHER = "another task"
"""In place of the id of a task that the reader may not see."""
MAX_TROUBLES = 3
MANY = 1000
"""In a longer queue no log line says with how many slots a job would have started."""


class JobExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a job, and why the first of its waiting requests waits."""

    job_id: str
    pool: str
    waiting: int
    running: int
    text: str
    why: Why | None = None
    holders: Holders = {}
    """Of the tasks that `why` names."""
    usernames: dict[str, str] = {}
    """Of their owners, by id."""


@dataclass(frozen=True)
class ClusterWaits:
    """What pools of Kubernetes clusters say of waits; each function takes the name of a pool."""

    troubles: Callable[[str], ClusterTrouble | None] = lambda pool: None
    """What keeps all pods of a pool from starting; None for nothing."""
    nodes_asked: Callable[[str, str], NodesAsked | None] = lambda pool, allocation_id: None
    """The answer to a pool's request for nodes for an allocation."""
    waits_for: Callable[[str, str], str] = lambda pool, allocation_id: ""
    """Why pods of an allocation wait in the own queue of a pool's cluster; empty for none."""
    device_note: Callable[[str], str] = lambda pool: ""
    """Why devices of a pool's class are no free slots; empty when all are, or for no class."""


NO_CLUSTERS = ClusterWaits()


class JobWhy:
    """Explains why jobs wait."""

    def __init__(
        self,
        db: Database,
        live: LiveAllocations,
        decision: Callable[[str], PoolDecision | None],
        machines: Callable[[str], MachineStatus | None] = lambda pool: None,
        clusters: ClusterWaits = NO_CLUSTERS,
        *,
        has_roles: bool = False,
    ) -> None:
        """
        Args:
            db: for all queries.
            live: what waits and runs.
            decision: the last one of a pool.
            machines: the state of a pool's machines; None for a pool without.
            clusters: what Kubernetes clusters say.
            has_roles: whether users see only some of the workspaces.
        """
        self._has_roles = has_roles
        self._db = db
        self._live = live
        self._decision = decision
        self._machines = machines
        self._clusters = clusters

    async def why(self, caller: Caller, id: str) -> JobExplanation:
        """What holds a job.

        Args:
            caller: the caller.
            id: of the job, of its experiment, of its task, or of one of its allocations.

        Returns:
            It contains a provider's own error messages only for callers who may
            configure the cluster.

        Raises:
            NotFound: nothing of that id waits or runs.
        """
        access.may(caller, "read", "queue")
        found = await self._find(id)
        await self._check_seen(caller, id, found)
        if not found:
            return await self._idle(id)
        waiting = sorted(
            (a for a in found if a.state == "PENDING"),
            key=lambda a: (a.request.requested_at or a.request.submitted_at, a.id),
        )
        request = (waiting or found)[0].request
        if not waiting:
            held = self._in_the_cluster(found)
            text = held[0] if held else _placed(found)
            state = _state(request.job_id, request.pool, found, text)
            running = len(found) - len(held)
            return msgspec.structs.replace(state, waiting=len(held), running=running)
        for_admin = access.can(caller, "configure", "cluster")
        decision = self._decision(request.pool)
        if decision is None:
            text = (
                f"no decision has been made for pool {request.pool!r}: the master has only just "
                "begun to lead, or the pool is not in its settings any more"
            )
            trouble = self._clusters.troubles(request.pool)
            if trouble is not None:
                text = trouble.sentence(for_admin=for_admin)
            return _state(request.job_id, request.pool, found, text)
        ends = await self._ends(decision.view)
        for allocation in waiting[:20]:
            why = await asyncio.to_thread(
                explain, decision.view, decision.plan, allocation.id, ends
            )
            if why is not None:
                why = await self._without_hidden(caller, why)
                text = self._with_machines(why, for_admin=for_admin)
                state = _state(request.job_id, request.pool, found, text, why)
                return await self._with_holders(state, why)
        text = "the scheduler has not decided about it yet; it does so within a second"
        return _state(request.job_id, request.pool, found, text)

    async def explain(self, decision: PoolDecision, allocation_id: str) -> str | None:
        """What held a request in a decision, in a few words for all; None when nothing did.

        With roles, all readers of the task's log see it: it names tasks of its workspace only.
        """
        ends = await self._ends(decision.view)
        why = await asyncio.to_thread(
            explain,
            decision.view,
            decision.plan,
            allocation_id,
            ends,
            with_smaller=len(decision.view.pending) <= MANY,
        )
        if why is None:
            return None
        if self._has_roles:
            where = await self._workspaces(why)
            own = where.get(allocation_id)
            why = named(why, {id for id, place in where.items() if place == own})
        return self._with_machines(why)

    async def _without_hidden(self, caller: Caller, why: Why) -> Why:
        """The same without the ids of tasks that the caller may not see."""
        if access.visible(caller, "task") is None:
            return why
        where = await self._workspaces(why)
        seen = {i for i, w in where.items() if access.can(caller, "read", "task", workspace_id=w)}
        return named(why, seen)

    async def _with_holders(self, state: JobExplanation, why: Why) -> JobExplanation:
        holders = holders_of(why, self._live)
        users = sorted({holder.user_id for holder in holders.values()})
        async with self._db.acquire() as conn:
            names = await list_usernames(conn, users)
        return msgspec.structs.replace(state, holders=holders, usernames=names)

    async def _workspaces(self, why: Why) -> dict[str, int]:
        """The workspaces of all allocations that an explanation names."""
        ids = {why.allocation_id, *(a.allocation_id for a in why.ahead)}
        ids |= {n.allocation_id for n in why.next} | ({why.behind} if why.behind else set())
        async with self._db.acquire() as conn:
            return await find_workspaces(conn, "allocation", sorted(ids))

    def _with_machines(self, why: Why, *, for_admin: bool = False) -> str:
        pool, allocation_id = why.pool, why.allocation_id
        text = sentence(why, holders_of(why, self._live))
        devices = self._clusters.device_note(pool) if why.needs_slots else ""
        if devices:
            text = f"{text}; {devices}"
        asked = self._clusters.nodes_asked(pool, allocation_id)
        if asked is not None:
            text = f"{text}; {asked.sentence(for_admin=for_admin)}"
        trouble = self._clusters.troubles(pool)
        if trouble is not None:
            return f"{trouble.sentence(for_admin=for_admin)}; {text}"
        status = self._machines(pool)
        if status is None:
            return text
        reasons = status.over_budget.get(allocation_id, ""), status.sentence(for_admin=for_admin)
        return "; ".join([text, *(reason for reason in reasons if reason)])

    def _in_the_cluster(self, found: Sequence[Allocation]) -> list[str]:
        """The reason of each task whose pods wait in the cluster's own queue."""
        assigned = (a for a in found if a.state == "ASSIGNED")
        held = ((a, self._clusters.waits_for(a.request.pool, a.id)) for a in assigned)
        return [f"{a.request.name} {text}" for a, text in held if text]

    async def _check_seen(self, caller: Caller, id: str, found: Sequence[Allocation]) -> None:
        if access.visible(caller, "task") is None:
            return
        thing: Thing = "allocation" if found else "experiment" if _is_number(id) else "job"
        name = found[0].id if found else id
        async with self._db.acquire() as conn:
            where = await find_workspaces(conn, thing, [name])
            where = where or await find_workspaces(conn, "task", [name])
        missing = f"job {id} not found: nothing of it waits or runs"
        access.may_see(caller, "task", where.get(name), missing)

    async def _idle(self, id: str) -> JobExplanation:
        """A job without waiting or running requests."""
        async with self._db.acquire() as conn:
            of_experiment = await rows.find_job_id(conn, int(id)) if _is_number(id) else None
            job_id = of_experiment or await rows.find_job_of_task(conn, id) or id
            found = await rows.list_jobs(conn, [job_id]) if job_id and is_uuid(job_id) else []
        if not found or found[0].resources is None:
            raise NotFound(f"job {id} not found: nothing of it waits or runs")
        [row] = found
        thing = f"task {row.task_id}" if row.task_id else f"experiment {row.experiment_id}"
        text = f"{thing} is {row.state}: nothing of it waits or runs now"
        return JobExplanation(
            job_id=row.job_id, pool=row.resource_pool or "", waiting=0, running=0, text=text
        )

    async def _find(self, id: str) -> list[Allocation]:
        one = self._live.find(id)
        if one is not None:
            return [one]
        of_task = self._live.of_task(id)
        if of_task:
            return of_task
        if _is_number(id):
            async with self._db.acquire() as conn:
                id = await rows.find_job_id(conn, int(id)) or id
        return self._live.of_job(id)

    async def _ends(self, view: PoolView) -> dict[str, datetime]:
        """About when trials end, if they continue as fast as until now."""
        trials: dict[int, tuple[str, datetime]] = {}
        for one in view.running:
            live = self._live.find(one.allocation_id)
            if live is not None and live.request.trial_id is not None and live.assigned_at:
                trials[live.request.trial_id] = one.allocation_id, live.assigned_at
        async with self._db.acquire() as conn:
            progress = await rows.list_progress(conn, list(trials))
        ends = {}
        for trial_id, done in progress.items():
            allocation_id, since = trials[trial_id]
            if done >= MIN_PROGRESS:
                left_s = (view.now - since).total_seconds() * max(0.0, 1.0 - done) / done
                ends[allocation_id] = view.now + timedelta(seconds=left_s)
        return ends


def _placed(found: Sequence[Allocation]) -> str:
    """Of a job that has all of its slots: what of it has not begun may wait for something else."""
    text = f"nothing of it waits for slots: {len(found)} of its tasks have theirs"
    late = next((a.request for a in found if a.state in ("ASSIGNED", "PULLING")), None)
    if late is None:
        return text
    return f"{text}; {late.name} has not started yet: see 'det task logs {late.task_id}'"


def _troubles(found: Sequence[Allocation]) -> list[str]:
    """What running containers report of themselves, of the first few that report something."""
    reports = [
        f"{a.request.name} on agent {c.agent_id}: {trouble}"
        for a in sorted(found, key=lambda a: a.id)
        for c in a.containers
        for trouble in (c.master_away, c.main_thread)
        if trouble and c.state != "TERMINATED"
    ]
    more = len(reports) - MAX_TROUBLES
    return reports[:MAX_TROUBLES] + ([f"and {more} more such reports"] if more > 0 else [])


def _is_number(id: str) -> bool:
    return id.isascii() and id.isdigit() and len(id) < 10


def sentence(why: Why, holders: Holders) -> str:
    """All of it in a few words for a log or a terminal."""
    parts = [why.reason]
    if why.ahead_count:
        parts.append(f"{why.ahead_count} ahead of it")
    soon = next((n for n in why.next if n.about_at is not None or n.is_leaving), None)
    if soon is not None:
        holder = holders.get(soon.allocation_id)
        name = holder.name if holder else OTHER
        if soon.is_leaving:
            parts.append(f"{name} is leaving {count(soon.slots)}")
        elif soon.about_at is not None:
            at = soon.about_at.strftime("%H:%M UTC")
            parts.append(f"{name} frees {count(soon.slots)} at about {at}")
    if why.smaller is not None:
        parts.append(f"{count(why.smaller)} would start now")
    return "; ".join(parts)


def named(why: Why, seen: Collection[str]) -> Why:
    """The same with the ids of these allocations only; the places and slots of all stay.

    The sentence of the reason names no other either.
    """
    replace = msgspec.structs.replace
    is_seen = not why.behind or why.behind in seen
    return replace(
        why,
        reason=why.reason if is_seen else why.reason_without_ids,
        behind=why.behind if is_seen else "",
        ahead=tuple(
            a if a.allocation_id in seen else replace(a, allocation_id="", job_id="")
            for a in why.ahead
        ),
        next=tuple(
            n if n.allocation_id in seen else replace(n, allocation_id="", job_id="")
            for n in why.next
        ),
    )


def _state(
    job_id: str, pool: str, found: Sequence[Allocation], text: str, why: Why | None = None
) -> JobExplanation:
    waiting = sum(a.state == "PENDING" for a in found)
    return JobExplanation(
        job_id=job_id,
        pool=pool,
        waiting=waiting,
        running=len(found) - waiting,
        text="; ".join([text, *_troubles(found)]),
        why=why,
    )
