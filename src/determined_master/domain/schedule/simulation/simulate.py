"""Simulates a policy on a workload: the real planner on agents that exist only as numbers.

Time is in seconds. A task runs for its duration, alone on its slots; a preempted one exits after
`leave_s` and continues later where it stopped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import (
    EPOCH,
    AgentView,
    PoolView,
    RequestView,
    Rules,
    RunningView,
)


class SimTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of a workload; times in seconds from its start."""

    id: str
    job_id: str
    slots: int
    arrives_s: float
    runs_s: float
    priority: int = 42
    weight: float = 1.0
    max_slots: int | None = None
    is_preemptible: bool = True
    is_single_node: bool = False
    leave_s: float = 10.0
    submitted_s: float | None = None
    """When its job was submitted; None for its arrival."""


class SimOutcome(msgspec.Struct, frozen=True):
    id: str
    job_id: str
    slots: int
    waited_s: float
    """Total time without slots."""
    started_s: float | None
    ended_s: float | None
    preempted: int


class SimResult(msgspec.Struct, frozen=True):
    tasks: tuple[SimOutcome, ...]
    makespan_s: float
    utilisation: float
    """Fraction of all slots in use, from the start to the last end; 0 to 1."""
    preemptions: tuple[tuple[float, str, str], ...]
    """When, whose job was preempted, and for which job (empty: for its share)."""
    starts: int
    plans: int


class _Active:
    """A task that holds slots."""

    def __init__(self, task: SimTask, start: Mapping[str, tuple[int, ...]], at: float) -> None:
        self.task = task
        self.placement = start
        self.at = at
        self.ends_at = at
        self.is_leaving = False
        self.is_long_awaited = False


def simulate(
    workload: Iterable[SimTask],
    agents: Sequence[AgentView],
    rules: Rules,
    *,
    tick_s: float = 1.0,
    until_s: float = float("inf"),
    watch: Callable[[PoolView], None] | None = None,
) -> SimResult:
    """Run a workload on simulated agents.

    Args:
        workload: the tasks, in any order.
        agents: idle ones; shape (n,).
        rules: of the pool.
        tick_s: least time between two plans.
        until_s: when to stop, whatever still waits or runs.
        watch: sees each view before it is planned.
    """
    world = _World(workload, agents, rules, watch)
    world.run(tick_s, until_s)
    return world.result()


def agents_of(
    groups: Iterable[tuple[int, int]], max_zero_slot_tasks: int = 100
) -> list[AgentView]:
    """Idle agents, from pairs of a count and the slots of each."""
    return [
        AgentView(
            id=f"{slots}x-{n:04}",
            slots=slots,
            free_slots=tuple(range(slots)),
            max_zero_slot_tasks=max_zero_slot_tasks,
        )
        for count, slots in groups
        for n in range(count)
    ]


class _World:
    def __init__(
        self,
        workload: Iterable[SimTask],
        agents: Sequence[AgentView],
        rules: Rules,
        watch: Callable[[PoolView], None] | None,
    ) -> None:
        self._tasks = sorted(workload, key=lambda t: (t.arrives_s, t.id))
        self._agents = {a.id: a for a in agents}
        self._slots = sum(a.slots for a in agents)
        self._rules = rules
        self._watch = watch
        self._pending: dict[str, tuple[SimTask, RequestView]] = {}
        self._active: dict[str, _Active] = {}
        self._ends: list[tuple[float, int, str, bool]] = []
        self._left_s = {t.id: t.runs_s for t in self._tasks}
        self._waited = dict.fromkeys(self._left_s, 0.0)
        self._since = {t.id: t.arrives_s for t in self._tasks}
        self._started: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._preempted = dict.fromkeys(self._left_s, 0)
        self._preemptions: list[tuple[float, str, str]] = []
        self._busy = 0.0
        self._now = 0.0
        self._serial = self._plans = self._starts = 0

    def run(self, tick_s: float, until_s: float) -> None:
        arrivals = iter(self._tasks)
        coming = next(arrivals, None)
        while True:
            times = [self._ends[0][0]] if self._ends else []
            times += [coming.arrives_s] if coming else []
            times += self._patience_ends()
            if not times or min(times) > until_s:
                return
            self._now = max(self._now + tick_s if self._plans else 0.0, min(times))
            while coming is not None and coming.arrives_s <= self._now:
                self._wait(coming)
                coming = next(arrivals, None)
            self._end_what_is_due()
            self._plan()

    def result(self) -> SimResult:
        end = max(self._ended.values(), default=self._now)
        outcomes = tuple(
            SimOutcome(
                id=t.id,
                job_id=t.job_id,
                slots=t.slots,
                waited_s=self._waited[t.id]
                + (self._now - self._since[t.id] if t.id in self._pending else 0.0),
                started_s=self._started.get(t.id),
                ended_s=self._ended.get(t.id),
                preempted=self._preempted[t.id],
            )
            for t in self._tasks
        )
        busy = self._busy + sum((self._now - a.at) * a.task.slots for a in self._active.values())
        span = max(end, self._now if self._active else end)
        return SimResult(
            tasks=outcomes,
            makespan_s=end,
            utilisation=busy / (self._slots * span) if self._slots and span else 0.0,
            preemptions=tuple(self._preemptions),
            starts=self._starts,
            plans=self._plans,
        )

    def _patience_ends(self) -> list[float]:
        """When a waiting request becomes aged: a plan may change without any other event."""
        patience = self._rules.gang_patience_s
        ends = [self._since[i] + patience for i in self._pending]
        return [min(e for e in ends if e > self._now)] if any(e > self._now for e in ends) else []

    def _wait(self, task: SimTask) -> None:
        submitted = task.arrives_s if task.submitted_s is None else task.submitted_s
        self._since[task.id] = self._now if self._plans else task.arrives_s
        request = RequestView(
            allocation_id=task.id,
            job_id=task.job_id,
            slots=task.slots,
            submitted_at=_at(submitted),
            requested_at=_at(self._since[task.id]),
            is_preemptible=task.is_preemptible,
            is_single_node=task.is_single_node,
            priority=task.priority,
            weight=task.weight,
            max_slots=task.max_slots,
        )
        self._pending[task.id] = task, request

    def _end_what_is_due(self) -> None:
        while self._ends and self._ends[0][0] <= self._now:
            at, _, id, is_leave = heapq.heappop(self._ends)
            active = self._active.get(id)
            if active is None or active.is_leaving is not is_leave:
                continue
            if not is_leave and at != active.ends_at:
                continue  # the end of a run that was preempted
            del self._active[id]
            ran = self._now - active.at
            self._busy += ran * active.task.slots
            self._left_s[id] -= ran
            self._free(active)
            if is_leave and self._left_s[id] > 0:
                self._preempted[id] += 1
                self._wait(active.task)
            else:
                self._ended[id] = self._now

    def _free(self, active: _Active) -> None:
        for agent_id, slots in active.placement.items():
            agent = self._agents[agent_id]
            self._agents[agent_id] = replace(
                agent,
                free_slots=tuple(sorted((*agent.free_slots, *slots))),
                zero_slot_tasks=agent.zero_slot_tasks - (not slots),
            )

    def _plan(self) -> None:
        view = PoolView(
            pool="simulated",
            agents=tuple(self._agents.values()),
            pending=tuple(request for _, request in self._pending.values()),
            running=tuple(_running(a) for a in self._active.values()),
            now=_at(self._now),
            rules=self._rules,
        )
        if self._watch is not None:
            self._watch(view)
        made = plan(view)
        self._plans += 1
        for start in made.starts:
            self._start(start.allocation_id, dict(start.placement), start.is_long_awaited)
        for preempt in made.preemptions:
            active = self._active[preempt.allocation_id]
            active.is_leaving = True
            self._preemptions.append((self._now, active.task.job_id, preempt.for_job))
            self._push(self._now + active.task.leave_s, active.task.id, is_leave=True)

    def _start(
        self, id: str, placement: dict[str, tuple[int, ...]], is_long_awaited: bool
    ) -> None:
        task, _ = self._pending.pop(id)
        self._waited[id] += self._now - self._since[id]
        self._started.setdefault(id, self._now)
        self._starts += 1
        active = _Active(task, placement, self._now)
        active.is_long_awaited = is_long_awaited
        active.ends_at = self._now + self._left_s[id]
        self._active[id] = active
        for agent_id, slots in placement.items():
            agent = self._agents[agent_id]
            if not set(slots) <= set(agent.free_slots):
                raise AssertionError(f"{id} was given slots of {agent_id} that are in use")
            self._agents[agent_id] = replace(
                agent,
                free_slots=tuple(s for s in agent.free_slots if s not in slots),
                zero_slot_tasks=agent.zero_slot_tasks + (not slots),
            )
        self._push(active.ends_at, id, is_leave=False)

    def _push(self, at: float, id: str, *, is_leave: bool) -> None:
        self._serial += 1
        heapq.heappush(self._ends, (at, self._serial, id, is_leave))


def _running(active: _Active) -> RunningView:
    task = active.task
    submitted = task.arrives_s if task.submitted_s is None else task.submitted_s
    return RunningView(
        allocation_id=task.id,
        job_id=task.job_id,
        slots=task.slots,
        submitted_at=_at(submitted),
        is_preemptible=task.is_preemptible,
        is_leaving=active.is_leaving,
        is_long_awaited=active.is_long_awaited,
        started_at=_at(active.at),
        priority=task.priority,
        weight=task.weight,
        max_slots=task.max_slots,
        is_returning=active.is_leaving,
        is_single_node=task.is_single_node,
        slots_by_agent=tuple((a, len(s)) for a, s in sorted(active.placement.items())),
    )


def _at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)
