"""Workloads to simulate: from a recording, or at random."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from random import Random

import msgspec

from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.simulation.simulate import SimTask
from determined_master.domain.schedule.view import (
    AgentView,
    PoolView,
    RequestView,
    Rules,
    RunningView,
)

LEAVE_S = 10.0


class Recorded(msgspec.Struct, frozen=True):
    """A recording of a pool as a workload, with its results."""

    tasks: tuple[SimTask, ...]
    agents: tuple[AgentView, ...]
    """Idle; the most that were present at a time."""
    rules: Rules
    span_s: float
    waited_s: dict[str, float]
    """Of each task, as recorded."""
    utilisation: float
    preemptions: int
    unfinished: int
    """Tasks that still ran or waited at the end; their recorded part is simulated."""


@dataclass
class _Seen:
    """The recording of one task: all of its allocations together."""

    first: RequestView | RunningView
    arrives_s: float
    runs_s: float = 0.0
    waited_s: float = 0.0
    is_open: bool = True


def record_of(decisions: Iterable[tuple[PoolView, Plan]]) -> Recorded | None:
    """The workload of a recording; None for an empty one.

    A task is found by its allocations' ids, which end in a dot and a number. Its duration is the
    time for which it had slots, whatever interrupted it.
    """
    reader = _Reader()
    for view, plan in decisions:
        reader.see(view, plan)
    return reader.result()


def generate(count: int, slots: int, random: Random) -> list[SimTask]:
    """Generate jobs like those of a shared cluster, for about 90 % of the slots.

    Most are short and small, a few are long gangs; some jobs are searches of many tasks.

    Args:
        count: tasks.
        slots: of the cluster; the arrival rate depends on it.
        random: seeded by the caller.
    """
    shapes = [s for s in (1, 1, 1, 1, 2, 2, 4, 8, 8, 16) if s <= max(1, slots)]
    tasks: list[SimTask] = []
    at_s, job = 0.0, 0
    while len(tasks) < count:
        job += 1
        members = random.choice((1, 1, 1, 4, 16))
        wanted, urgency = random.choice(shapes), random.choice((42, 42, 42, 20, 60))
        for member in range(min(members, count - len(tasks))):
            runs_s = min(6 * 3600.0, 60.0 + random.lognormvariate(6.0, 1.2))
            tasks.append(
                SimTask(
                    id=f"j{job}.t{member}",
                    job_id=f"j{job}",
                    slots=wanted,
                    arrives_s=at_s,
                    submitted_s=at_s,
                    runs_s=runs_s,
                    priority=urgency,
                    is_preemptible=random.random() < 0.85,
                    leave_s=LEAVE_S,
                )
            )
            at_s += random.expovariate(1.0) * wanted * runs_s / (0.9 * max(1, slots))
    return tasks


class _Reader:
    """Follows the tasks through a recording."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._begin: datetime | None = None
        self._last_s = 0.0
        self._pending: set[str] = set()
        self._running: set[str] = set()
        self._agents: dict[str, AgentView] = {}
        self._busy = self._offered = 0.0
        self._held = self._there = 0
        self._preemptions = 0
        self._rules = Rules()

    def see(self, view: PoolView, plan: Plan) -> None:
        self._begin = self._begin or view.now
        now_s = (view.now - self._begin).total_seconds()
        self._pass(now_s - self._last_s)
        self._last_s = now_s
        pending = {_task_of(r.allocation_id): r for r in view.pending}
        running = {_task_of(r.allocation_id): r for r in view.running if not r.is_gone}
        present: dict[str, RequestView | RunningView] = {**pending, **running}
        for task, one in present.items():
            if task not in self._seen:
                self._seen[task] = _Seen(one, self._arrival(one))
            self._seen[task].is_open = True
        for task in (self._pending | self._running) - pending.keys() - running.keys():
            self._seen[task].is_open = False
        self._pending, self._running = set(pending), set(running)
        self._note_agents(view)
        self._held = sum(r.slots for r in running.values())
        self._there = sum(a.slots for a in view.agents)
        self._preemptions += len(plan.preemptions)
        self._rules = view.rules

    def _note_agents(self, view: PoolView) -> None:
        """Note each agent at its largest."""
        for agent in view.agents:
            before = self._agents.get(agent.id)
            if agent.slots and (before is None or before.slots < agent.slots):
                self._agents[agent.id] = agent

    def result(self) -> Recorded | None:
        if self._begin is None:
            return None
        return Recorded(
            tasks=tuple(self._task(task, s) for task, s in self._seen.items() if s.runs_s > 0),
            agents=tuple(
                msgspec.structs.replace(
                    a, free_slots=tuple(range(a.slots)), zero_slot_tasks=0, is_accepting=True
                )
                for a in self._agents.values()
            ),
            rules=self._rules,
            span_s=self._last_s,
            waited_s={task: s.waited_s for task, s in self._seen.items() if s.runs_s > 0},
            utilisation=self._busy / self._offered if self._offered else 0.0,
            preemptions=self._preemptions,
            unfinished=sum(s.is_open for s in self._seen.values()),
        )

    def _pass(self, seconds: float) -> None:
        for task in self._pending:
            self._seen[task].waited_s += seconds
        for task in self._running:
            self._seen[task].runs_s += seconds
        self._busy += seconds * self._held
        self._offered += seconds * self._there

    def _arrival(self, one: RequestView | RunningView) -> float:
        """Seconds since the start; requests from before arrive at once."""
        assert self._begin is not None
        if isinstance(one, RunningView):
            return self._last_s
        return max(0.0, (one.requested_at - self._begin).total_seconds())

    def _task(self, task: str, seen: _Seen) -> SimTask:
        assert self._begin is not None
        one = seen.first
        return SimTask(
            id=task,
            job_id=one.job_id,
            slots=one.slots,
            arrives_s=seen.arrives_s,
            submitted_s=(one.submitted_at - self._begin).total_seconds(),
            runs_s=seen.runs_s,
            priority=one.priority,
            weight=one.weight,
            max_slots=one.max_slots,
            is_preemptible=one.is_preemptible,
            is_single_node=isinstance(one, RequestView) and one.is_single_node,
            leave_s=LEAVE_S,
        )


def _task_of(allocation_id: str) -> str:
    task, dot, number = allocation_id.rpartition(".")
    return task if dot and number.isdigit() else allocation_id
