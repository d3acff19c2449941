"""A pool of machines on demand without processes: its scheduler, its loop, its rows, a cloud."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contracts.fake_machines import FakeCloud, FakeMachines
from tests.domain.builders import T0, run, waiting
from tests.pools.snapshots import snapshot

from determined_master import clock
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.machines.controller.controller_state import ScalingConfig
from determined_master.domain.machines.controller.launch_backoff import LaunchRetryPolicy
from determined_master.domain.machines.scaling import Limits, MachineType
from determined_master.domain.schedule.view import Rules, Size
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loop import PoolConfig, PoolLoop
from determined_master.ports.agents import AgentSnapshot
from determined_master.provision.fleet import Fleet
from determined_master.provision.loop import MachineLoop
from determined_master.provision.records import MachineRecords
from determined_master.provision.scheduling import Scheduling
from determined_master.provision.workspace_budgets import WorkspaceBudgets
from determined_master.store.db import Database

SLOTS = 2
SIZE = Size(slots=SLOTS, zero_slot_tasks=100, max_machines=5)
TYPE = MachineType(slots=SLOTS, device_type="cuda")


class Applier:
    """Applies what is posted to what is live, as the engine would."""

    def __init__(self, live: LiveAllocations) -> None:
        self.epoch = 1
        self.posted: list[Any] = []
        self._live = live
        self._version = 1

    async def post(self, kind: str, id: str, event: Any, *, cause: str) -> None:
        self.posted.append(event)
        state, _ = run(event, state=self._live.find(id))
        self._version += 1
        self._live.changed(state, self._version)


class World:
    """One pool; `tick` lets its scheduler plan and its loop look."""

    size = SIZE
    type = TYPE

    slot_price: float | None = None
    """Dollars an hour of a slot; the budgets of workspaces limit nothing without it."""

    def __init__(self, db: Database, patch: pytest.MonkeyPatch, **more: Any) -> None:
        """`more`: limits, `patience`, and `provider` in place of a cloud in memory."""
        self._provider = more.pop("provider", None)
        self.now, self.jumped = T0, timedelta(0)
        patch.setattr(clock, "now", lambda: self.now)
        patch.setattr(clock, "monotonic_s", self._passed_s)
        self.patience = more.pop("patience", LaunchRetryPolicy())
        self.limits = Limits(**more)
        self.cloud = FakeCloud(now=lambda: self.now)
        self.agents: list[AgentSnapshot] = []
        self.live = LiveAllocations(lambda pool: None)
        self.engine = Applier(self.live)
        self._db = db
        self._number = 0
        self.begin()

    def begin(self) -> None:
        """A master that was started again, on the same rows and in the same cloud."""
        self.records = MachineRecords(self._db, "default", self.size.slots)
        self.fleet = Fleet("default", self._provider or self.provider(), self.records)
        engine: Any = self.engine
        rules = Rules(machines=self.size)
        self.pool = PoolLoop(PoolConfig("default", rules), engine, lambda: self.agents, self.live)
        scheduling = Scheduling(
            engine=engine,
            live=self.live,
            agents=lambda: self.agents,
            decision=lambda: self.pool.decision,
            cordon=self.pool.cordon,
            held_back=WorkspaceBudgets(
                self._db, self.live, lambda pool: self.slot_price
            ).held_back,
        )
        config = ScalingConfig(
            pool="default", limits=self.limits, size=self.size, patience=self.patience
        )
        self.loop = MachineLoop(config, self.fleet, scheduling)

    def provider(self) -> FakeMachines:
        """The cloud as a master sees it."""
        return FakeMachines(self.cloud, "default", self.type)

    def set_limits(self, limits: Limits) -> None:
        """From the next look on."""
        state = self.loop.state
        self.loop.state = replace(state, config=replace(state.config, limits=limits))

    async def raise_epoch(self) -> int:
        """Another lead begins; its epoch."""
        query = "UPDATE leader SET epoch = epoch + 1 RETURNING epoch"
        return int(await self._db.fetchval(query))

    async def lead(self) -> None:
        """The master that was started last leads from now on."""
        await self.loop.take_over(await self.raise_epoch())
        await self.fleet.begin()

    async def tick(self, after: timedelta = timedelta(seconds=5), *, plans: bool = True) -> None:
        """That much later all look and act."""
        self.now += after
        if plans:
            await self.pool.tick()
        await self.loop.tick()

    def jump(self, by: timedelta) -> None:
        """The clock is set; no time passes."""
        self.now += by
        self.jumped += by

    def _passed_s(self) -> float:
        return (self.now - T0 - self.jumped).total_seconds()

    def submit(self, slots: int = 1, **overrides: Any) -> str:
        """A request, of a task and a job of its own; its allocation's id."""
        self._number += 1
        task = f"task-{self._number}"
        given = {"task_id": task, "job_id": task, "requested_at": self.now, **overrides}
        state = replace(waiting(slots=slots, **given), id=f"{task}.1")
        self.live.changed(state, 1)
        return state.id

    def submit_in_vain(self, slots: int = 1) -> str:
        """A request while the cloud has no room for a machine; its allocation's id."""
        self.cloud.room = 0
        return self.submit(slots)

    def end(self, allocation_id: str) -> None:
        """It is over."""
        state = self.live.find(allocation_id)
        assert state is not None
        over = [
            alloc.ContainerChanged(container_id=c.id, state="TERMINATED", exit_code=0)
            for c in state.containers
        ]
        self.live.changed(run(*over, state=state)[0], 1_000_000)

    def join(self, *ids: str) -> None:
        """The agents of these machines have joined; of all without names."""
        for machine in self.cloud.machines.get("default", []):
            if (not ids or machine.id in ids) and machine.id not in self.names():
                self.cloud.set_state(machine.id, "running")
                self.agents.append(snapshot(machine.agent_name, SLOTS))

    def leave(self, *ids: str) -> None:
        """These agents are gone."""
        self.agents = [a for a in self.agents if a.id not in ids]

    def names(self) -> set[str]:
        """Ids of the agents."""
        return {a.id for a in self.agents}

    @property
    def machines(self) -> list[str]:
        """Ids of the machines that the cloud has."""
        return [m.id for m in self.cloud.machines.get("default", [])]

    async def stays(self) -> list[tuple[str, datetime, datetime | None]]:
        """Machine, begin and end of each stay."""
        query = "SELECT machine_id, started_at, ended_at FROM machine_stays ORDER BY id"
        return [tuple(row) for row in await self._db.fetch(query)]


async def started(world: World) -> str:
    """A task that runs on the first machine."""
    task = world.submit()
    await world.tick()
    world.join()
    await world.tick()
    await world.tick()
    state = world.live.find(task)
    assert state is not None
    assert state.state == "ASSIGNED"
    return task


def count_launches(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many machines each launch from now on asks for."""
    asked: list[int] = []
    real = world.fleet._provider.launch

    async def counted(count: int, token: str, **more: Any) -> Any:
        asked.append(count)
        return await real(count, token, **more)

    monkeypatch.setattr(world.fleet._provider, "launch", counted)
    return asked
