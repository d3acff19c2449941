"""A day of a pool of machines on demand in simulated time: jobs, a cloud that fails, the costs.

The pool's scheduler, its loop over machines and their rows are the master's own. Simulated are the
clock, the cloud, the agents that join, and the work.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.contracts.fake_machines import FakeMachines
from tests.pools.snapshots import snapshot
from tests.provision.machine_world import World

from determined_master.domain.machines.scaling import Machine, MachineType
from determined_master.domain.schedule.view import Size
from determined_master.ports.machines import ProviderFailed
from determined_master.store.db import Database

SLOTS = 8
"""Of each machine."""
TICK = timedelta(seconds=5)
MAX_TICK = timedelta(seconds=60)
"""Between two ticks in which nothing has happened."""
BOOT_S = (60.0, 120.0)
GANGS = ((1, 30), (2, 20), (4, 20), (8, 20), (16, 7), (32, 3))
"""Slots of a job, and its weight."""
WORK_S = (900.0, 6 * 3600.0)
"""A job's length is between them, evenly in its logarithm."""
ARRIVALS_S = 4 * 3600.0


@dataclass(frozen=True)
class Job:
    """Its slots are held from its start for so long."""

    at_s: float
    slots: int
    work_s: float


@dataclass
class Costs:
    """What a day took."""

    machine_hours: float = 0.0
    least_hours: float = 0.0
    """Of the same jobs on machines that start at once, are full, and end with their work."""
    machines: int = 0
    most: int = 0
    """Machines at one time."""
    calls: int = 0
    failed: int = 0
    doubled: int = 0
    """Machines that were launched beyond what open requests could fill."""
    orphans: int = 0
    """Machines that the cloud still has when all work and the longest idle time are over."""


def jobs_of(seed: int, count: int) -> list[Job]:
    """Jobs that arrive within four hours."""
    draw = random.Random(seed)
    sizes, weights = zip(*GANGS, strict=True)
    low, high = WORK_S
    return sorted(
        (
            Job(
                at_s=draw.uniform(0, ARRIVALS_S),
                slots=draw.choices(sizes, weights)[0],
                work_s=low * (high / low) ** draw.random(),
            )
            for _ in range(count)
        ),
        key=lambda job: job.at_s,
    )


class FlakyMachines(FakeMachines):
    """Some calls fail: half of them before they act, half of them after, with the answer lost."""

    def __init__(self, fleet: SimulatedFleet, pool: str, type: MachineType) -> None:
        super().__init__(fleet.cloud, pool, type)
        self._fleet = fleet

    async def list_machines(self) -> Sequence[Machine]:
        self._fail()
        return await super().list_machines()

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        self._fleet.asked(count, token)
        self._fail()
        made = await super().launch(count, token, is_repeated=is_repeated)
        self._fleet.launched(made, token)
        self._fail()
        return made

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        self._fail()
        self._fleet.terminated(machine_ids)
        await super().terminate(machine_ids)
        self._fail()

    def _fail(self) -> None:
        self._fleet.costs.calls += 1
        if self._fleet.draw.random() < self._fleet.failing / 2:
            self._fleet.costs.failed += 1
            raise ProviderFailed("the cloud does not answer")


@dataclass(order=True)
class _Due:
    at: datetime
    number: int
    what: Any = field(compare=False)


class SimulatedFleet(World):
    """One pool of up to `machines` machines.

    Args:
        failing: the share of calls that fail, 0 to 1.
    """

    size = Size(slots=SLOTS, zero_slot_tasks=100, max_machines=5)
    type = MachineType(slots=SLOTS, device_type="cuda")

    def __init__(
        self,
        db: Database,
        patch: pytest.MonkeyPatch,
        *,
        machines: int,
        failing: float,
        seed: int,
        idle: timedelta,
    ) -> None:
        self.size = Size(slots=SLOTS, zero_slot_tasks=100, max_machines=machines)
        self.failing = failing
        self.draw = random.Random(seed)
        self.costs = Costs()
        self._launched_at: dict[str, datetime] = {}
        self._tokens: set[str] = set()
        self._unmade: dict[str, int] = {}
        """Machines of launches that the cloud has not carried out, by token."""
        self._due: list[_Due] = []
        self._count = 0
        self._is_new = True
        """Whether something has happened since the last tick."""
        self._waiting: dict[str, Job] = {}
        self._running: dict[str, Job] = {}
        self._idle = idle
        super().__init__(db, patch, max_machines=machines, max_idle=idle)

    def provider(self) -> FakeMachines:
        return FlakyMachines(self, "default", self.type)

    async def day(self, jobs: Sequence[Job]) -> Costs:
        """All jobs, to the end of the last one and of the machines after it."""
        await self.lead()
        begun = self.now
        for job in jobs:
            self._at(begun + timedelta(seconds=job.at_s), job)
        while self._due or self._waiting or self._running:
            await self._advance()
        over = self.now + 2 * self._idle + timedelta(minutes=30)
        while self.now < over and self.cloud.machines.get("default"):
            await self._advance()
        self.costs.orphans = len(self.cloud.machines.get("default", []))
        self.costs.least_hours = sum(j.slots * j.work_s for j in jobs) / SLOTS / 3600
        return self.costs

    def asked(self, count: int, token: str) -> None:
        """A launch, or the same one again: its answer was lost."""
        if token in self._tokens:
            return
        there = len(self.cloud.machines.get("default", [])) + sum(self._unmade.values())
        self._tokens.add(token)
        self._unmade[token] = count
        self.costs.doubled += max(0, min(count, there + count - self._most_useful()))

    def launched(self, made: Sequence[Machine], token: str) -> None:
        """Machines that boot, unless the same launch was answered before."""
        self._unmade.pop(token, None)
        for machine in made:
            if machine.id in self._launched_at:
                continue
            self._launched_at[machine.id] = self.now
            boot = timedelta(seconds=self.draw.uniform(*BOOT_S))
            self._at(self.now + boot, machine)
        self.costs.machines = len(self._launched_at)
        self.costs.most = max(self.costs.most, len(self.cloud.machines["default"]))

    def terminated(self, ids: Sequence[str]) -> None:
        """Machines cost until they are ended, and their agents are gone."""
        there = {m.id for m in self.cloud.machines.get("default", [])} & set(ids)
        for id in there:
            hours = (self.now - self._launched_at[id]).total_seconds() / 3600
            self.costs.machine_hours += hours
        self.leave(*there)

    def _most_useful(self) -> int:
        """Machines that run something, and those that the waiting requests would fill.

        Free slots beside running work do not count: the scheduler may keep small requests from
        them while a gang before them waits.
        """
        agents = self.live.view("default", self.agents).agents
        busy = sum(len(agent.free_slots) < SLOTS for agent in agents)
        return busy + math.ceil(sum(job.slots for job in self._waiting.values()) / SLOTS)

    def _at(self, when: datetime, what: Any) -> None:
        self._count += 1
        heapq.heappush(self._due, _Due(when, self._count, what))

    async def _advance(self) -> None:
        """To the next tick in which something happens; its plan, and what follows of it."""
        next_due = self._due[0].at if self._due else self.now + MAX_TICK
        wait = min(MAX_TICK, max(TICK, next_due - self.now))
        if self._is_new:
            wait = TICK
        self._is_new = False
        self.now += wait
        while self._due and self._due[0].at <= self.now:
            self._happen(heapq.heappop(self._due).what)
            self._is_new = True
        await self.pool.tick()
        for id in [i for i in self._waiting if self._has_started(i)]:
            job = self._running[id] = self._waiting.pop(id)
            self._at(self.now + timedelta(seconds=job.work_s), id)
            self._is_new = True
        if not await self.loop._try(self.loop.tick):
            self._is_new = True

    def _happen(self, what: Any) -> None:
        match what:
            case Job():
                self._waiting[self.submit(what.slots)] = what
            case Machine():
                if any(m.id == what.id for m in self.cloud.machines["default"]):
                    self.cloud.set_state(what.id, "running")
                    self.agents.append(snapshot(what.agent_name, SLOTS))
            case _:
                self.end(what)
                del self._running[what]

    def _has_started(self, allocation_id: str) -> bool:
        state = self.live.find(allocation_id)
        return state is not None and state.state == "ASSIGNED"
