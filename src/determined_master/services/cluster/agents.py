"""Reports of agents, turned into events; and the list of agents."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.access import rules as access
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.errors import DetError, NotFound
from determined_master.domain.ids import AllocationId
from determined_master.domain.pods.queues import is_queue
from determined_master.domain.task.cause import killed_for_memory
from determined_master.domain.task.notices import without_marks
from determined_master.domain.task.tracebacks import read_cause
from determined_master.engine.causes import AgentReported, Cause, FoundEnded, Occurrence
from determined_master.services.cluster.task_notices import TaskNotices

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.task.cause import FailureCause
    from determined_master.engine import Engine
    from determined_master.pools.agent_backoff import CurrentBackoff
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports.agents import AgentSnapshot, ClusterBackend
    from determined_master.ports.orders import LogPlace, StoredOutput, TaskNote
    from determined_master.services.access.guard import Guard
    from determined_master.services.logs.task_logs import TaskLogs
    from determined_wire.agent_link import ContainerReport, LogBatch

log = logging.getLogger(__name__)

MAX_HELD = 1_000
"""Containers of ended allocations whose last lines may still come: their agents are remembered."""


class AgentReports:
    """Carries what agents and pods report into the engine; implements `ports.PodEvents`."""

    def __init__(
        self,
        engine: Engine,
        live: LiveAllocations,
        logs: TaskLogs,
        trigger_planning: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._live = live
        self._logs = logs
        self._trigger_planning = trigger_planning
        self._notices = TaskNotices(engine, live)
        self._held: OrderedDict[tuple[str, str, str, str], bool] = OrderedDict()
        self._expected: dict[str, set[str]] = {}
        """By agent: containers that have ended and whose last line is still to come."""

    async def agent_joined(
        self, agent: AgentSnapshot, containers: tuple[ContainerReport, ...]
    ) -> tuple[str, ...]:
        """Record the agent's containers; missing ones are lost."""
        reported = {c.container_id: c for c in containers}
        ended = [report for report in containers if report.state == "TERMINATED"]
        await self._expect_output(agent.id, ended)
        for report in ended:
            cause = FoundEnded(agent.id, report.container_id)
            await self._post(agent.id, report, cause)
        keep: list[str] = []
        for allocation, expected in self._live.on_agent(agent.id):
            keep += [c.id for c in expected]
            missing = tuple(
                c.id for c in expected if c.id not in reported and c.state != "ASSIGNED"
            )
            if missing:
                await self._lose(agent.id, allocation.id, missing, "it came back without it")
        for pool in (agent.pool, *agent.more_pools):
            self._trigger_planning(pool)
        self._engine.retry_deferred(agent.id)
        return tuple(keep)

    def wanted(self, agent_id: str) -> frozenset[str]:
        """The containers that are to run on an agent now."""
        return frozenset(
            c.id
            for allocation in self._live.values()
            for c in allocation.containers
            if c.agent_id == agent_id and c.state != "TERMINATED"
        )

    async def agent_lost(self, agent_id: str, reason: str) -> None:
        """All that ran there is lost; its allocations start again elsewhere."""
        if expected := self._expected.pop(agent_id, None):
            await self._logs.give_up(list(expected))
        for allocation, held in self._live.on_agent(agent_id):
            await self._lose(agent_id, allocation.id, tuple(c.id for c in held), reason)

    async def container_changed(
        self, agent_id: str, boot_id: str, number: int, report: ContainerReport
    ) -> None:
        """A container has reached a state."""
        await self._post(agent_id, report, AgentReported(agent_id, boot_id, number))

    async def machine_ending(self, agent: AgentSnapshot, boot_id: str, reason: str) -> None:
        """Preempt the work there that can save itself; it starts again elsewhere, uncounted."""
        event = alloc.PreemptRequested(reason=f"its machine is taken back: {reason}")
        cause = Occurrence("machine ending", f"{agent.id}:{boot_id}")
        for allocation, _ in list(self._live.on_agent(agent.id)):
            if not allocation.request.is_preemptible:
                continue
            try:
                await self._engine.post(
                    ALLOCATION, AllocationId(allocation.id), event, cause=cause
                )
            except DetError as error:  # it has just ended: the others still need their time
                log.info("not preempted: %s", error, extra={"allocation": allocation.id})
        self._trigger_planning(agent.pool)

    async def pod_evicted(self, agent_id: str, report: ContainerReport, reason: str) -> None:
        """Preempt the task if it can save its work; it starts again, uncounted."""
        live = self._live.find(report.allocation_id)
        if live is None or not live.request.is_preemptible:
            return
        if not _has(agent_id, live, report.container_id):
            return
        cause = Occurrence("pod evicted", report.container_id)
        event = alloc.PreemptRequested(reason=reason)
        try:
            await self._engine.post(ALLOCATION, AllocationId(live.id), event, cause=cause)
        except DetError as error:
            log.info("not preempted: %s", error, extra={"allocation": live.id})

    async def store_logs(
        self, agent_id: str, batch: LogBatch, place: LogPlace | None = None
    ) -> int:
        """Store lines; returns the number of the last one stored.

        Lines of a container that the agent does not hold, or of another task, are dropped.
        """
        if not await self._is_holder(agent_id, batch):
            log.warning(
                "dropped lines of a container that this agent does not hold",
                extra={"agent": agent_id, "container": batch.container_id, "task": batch.task_id},
            )
            return batch.first_seq + len(batch.text.split("\n")) - 1
        text, notices = without_marks(batch.text)
        if notices:
            batch = replace(batch, text=text)
        stored = await self._logs.store_batch(agent_id, batch, place)
        await self._notices.report(batch, notices)
        if batch.is_last:
            self._expected.get(agent_id, set()).discard(batch.container_id)
        return stored

    async def stored_output(self, task_id: str, container_id: str) -> StoredOutput:
        """How much of a container's output is stored."""
        return await self._logs.stored_output(task_id, container_id)

    async def note(self, note: TaskNote) -> None:
        """Write a line of the backend's own into the log of a task; one with a key once."""
        await self._logs.note(note)

    async def _expect_output(self, agent_id: str, ended: Sequence[ContainerReport]) -> None:
        """Let followers wait for the output of containers that ended without a connection.

        Such an end is reported before the output, of which no line may be stored yet.
        """
        for report in ended:
            live = self._live.find(report.allocation_id)
            if live is not None and _has(agent_id, live, report.container_id):
                await self._logs.expect(report.container_id, live.request.task_id)
                self._expected.setdefault(agent_id, set()).add(report.container_id)

    async def _is_holder(self, agent_id: str, batch: LogBatch) -> bool:
        """Whether a batch is of a container that the agent holds, or held until it ended."""
        live = self._live.find(batch.allocation_id)
        if live is not None:
            return _holds(agent_id, live, batch)
        key = agent_id, batch.allocation_id, batch.container_id, batch.task_id
        if key not in self._held:
            ended = await self._engine.read(ALLOCATION, AllocationId(batch.allocation_id))
            self._held[key] = ended is not None and _holds(agent_id, ended, batch)
            if len(self._held) > MAX_HELD:
                self._held.popitem(last=False)
        return self._held[key]

    async def _post(self, agent_id: str, report: ContainerReport, cause: Cause) -> None:
        if report.state == "ASSIGNED":
            return
        allocation = self._live.find(report.allocation_id)
        held = {} if allocation is None else {c.id: c.agent_id for c in allocation.containers}
        if held.get(report.container_id, agent_id) != agent_id:
            log.warning(
                "dropped a report about a container that this agent does not hold",
                extra={"agent": agent_id, "container": report.container_id},
            )
            return
        failure = None
        if report.failure is not None:
            failure = alloc.ContainerFailure(
                type=report.failure.type,
                message=report.failure.message,
                exit_code=report.failure.exit_code,
                cause=await self._cause(allocation, report),
            )
        event = alloc.ContainerChanged(
            container_id=report.container_id,
            agent_id=agent_id,
            state=report.state,
            host_ip=report.addresses[0].host_ip if report.addresses else "",
            ports=tuple((a.container_port, a.host_port) for a in report.addresses),
            failure=failure,
            exit_code=report.exit_code,
        )
        try:
            await self._engine.post(
                ALLOCATION, AllocationId(report.allocation_id), event, cause=cause
            )
        except NotFound:
            log.warning(
                "an agent reports a container of an unknown allocation",
                extra={"container": report.container_id, "allocation": report.allocation_id},
            )

    async def _cause(
        self, allocation: alloc.Allocation | None, report: ContainerReport
    ) -> FailureCause | None:
        """The cause in the last lines of a failed container: its agent reports the end last."""
        if allocation is None or report.failure is None or allocation.kill_cause is not None:
            return None
        ranks = [c.rank for c in allocation.containers if c.id == report.container_id]
        if not ranks or report.failure.type != "container_failed":
            return None
        lines = await self._logs.tail(allocation.request.task_id, report.container_id)
        cause = read_cause(lines, report.failure.exit_code, ranks[0])
        memory = report.failure.out_of_memory
        if memory is not None:
            cause = killed_for_memory(cause, memory.limit_bytes, memory.peak_bytes)
        return cause

    async def _lose(
        self, agent_id: str, allocation_id: str, containers: tuple[str, ...], reason: str
    ) -> None:
        await self._logs.give_up(containers)
        failure = alloc.ContainerFailure(
            type="agent_failed",
            message=f"agent closed with allocated containers: agent {agent_id} was lost: {reason}",
        )
        event = alloc.AgentLost(agent_id=agent_id, container_ids=containers, failure=failure)
        cause = Occurrence("lost", f"{agent_id}:{','.join(containers)[:400]}")
        await self._engine.post(ALLOCATION, AllocationId(allocation_id), event, cause=cause)


def _holds(agent_id: str, allocation: alloc.Allocation, batch: LogBatch) -> bool:
    """Whether the batch is of a container of this allocation on this agent."""
    return batch.task_id == allocation.request.task_id and _has(
        agent_id, allocation, batch.container_id
    )


def _has(agent_id: str, allocation: alloc.Allocation, container_id: str) -> bool:
    return any(c.id == container_id and c.agent_id == agent_id for c in allocation.containers)


class Agents:
    """The agents of the cluster, for users."""

    def __init__(self, backend: ClusterBackend, live: LiveAllocations, guard: Guard) -> None:
        self._backend = backend
        self._live = live
        self._guard = guard

    async def list_all(self, caller: Caller) -> Sequence[AgentSnapshot]:
        """All agents, by id."""
        access.may(caller, "read", "agent")
        found = (a for a in self._backend.agents() if not is_queue(a.id))
        return sorted(found, key=lambda a: a.id)

    async def get(self, caller: Caller, agent_id: str) -> AgentSnapshot:
        """One agent."""
        for agent in await self.list_all(caller):
            if agent.id == agent_id:
                return agent
        raise NotFound(f"agent '{agent_id}' not found")

    def backoff_of(self, agent_id: str) -> CurrentBackoff | None:
        """How long an agent on which nothing starts gets no work; None when it rests not."""
        return self._live.backoff_of(agent_id)

    async def hidden(self, caller: Caller) -> frozenset[str]:
        """Ids of live allocations that the caller may not see."""
        if access.visible(caller, "task") is None:
            return frozenset()
        ids = [allocation.id for allocation in self._live.values()]
        return frozenset(ids) - await self._guard.seen(caller, "allocation", ids)

    def containers_on(
        self, agent_id: str, hidden: frozenset[str] = frozenset()
    ) -> list[tuple[alloc.Allocation, alloc.Container]]:
        """The containers on an agent; those of hidden allocations without their ids."""
        return [
            (
                allocation,
                replace(container, id="") if allocation.id in hidden else container,
            )
            for allocation, held in self._live.on_agent(agent_id)
            for container in held
        ]
