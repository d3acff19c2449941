"""The loop of a pool of machines on demand over leads and restarts, and the stays it writes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.agent_link import until
from tests.provision.machine_world import World, count_launches, started

from determined_master.engine.errors import NotLeader
from determined_master.ports.machines import ProviderFailed
from determined_master.provision.scheduling import Scheduling
from determined_master.store.db import Database

MINUTE = timedelta(minutes=1)


async def test_a_master_that_leads_again_writes_down_what_another_has_struck_out(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.submit()
    await world.tick()
    await world.tick()
    await pool.execute("UPDATE machine_stays SET ended_at = seen_at")
    await world.lead()
    await world.tick()
    assert [ended for _, _, ended in await world.stays()][-1] is None


async def test_machines_missing_after_a_change_of_leader_are_logged(
    pool: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(pool, monkeypatch)
    world.submit()
    await world.tick()
    await world.tick()
    world.cloud._unlisted.add("default-1")
    world.begin()
    await world.lead()
    caplog.clear()
    for _ in range(3):
        await world.tick(MINUTE)
    told = [getattr(r, "machines", None) for r in caplog.records if "run unnoticed" in r.message]
    assert told == [["default-1"]]


async def test_stays_are_from_the_launch_until_a_machine_was_seen_last(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.submit(slots=4)
    await world.tick()
    launched_at = world.now
    await world.tick(MINUTE)
    seen_at = world.now
    world.cloud.machines["default"].pop(0)
    await world.tick()
    assert await world.stays() == [
        ("default-1", launched_at, seen_at),
        ("default-2", launched_at, None),
        ("default-3", world.now, None),
    ]


async def test_machines_to_end_from_before_a_restart_are_not_used_again(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    world.end(await started(world))
    await world.tick()

    async def dies(machine_ids: Any) -> None:
        raise ProviderFailed("the master died just then")

    monkeypatch.setattr(world.fleet._provider, "terminate", dies)
    with pytest.raises(ProviderFailed):
        await world.tick(2 * MINUTE)
    world.begin()
    await world.lead()
    assert set(world.fleet.leaving) == {"default-1"}
    await world.tick()
    assert world.machines == []


async def test_idle_times_continue_over_a_restart_and_end_with_work(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=10 * MINUTE)
    first = await started(world)
    world.submit(slots=2)
    await world.tick()
    world.join()
    await world.tick()
    await world.tick()
    world.end(first)
    await world.tick()
    agents, world.agents = world.agents, []
    for _ in range(3):  # a master that never lives for as long as a machine may idle
        world.begin()
        await world.lead()
        await world.tick(4 * MINUTE)
    assert world.machines == ["default-1", "default-2"]
    world.agents = agents
    await world.tick()
    assert world.machines == ["default-2"], "what works has no idle time"
    await world.tick()
    query = "SELECT machine_id, idle_since FROM machine_stays WHERE ended_at IS NULL"
    assert [tuple(row) for row in await pool.fetch(query)] == [("default-2", None)]


class Leads:
    """An engine that leads, does not, and leads again."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.asked = 0

    async def wait_until_leading(self, timeout_s: float | None = 30) -> int:
        self.asked += 1
        await until(lambda: self.epoch is not None)
        assert self.epoch is not None
        return self.epoch


async def test_only_a_master_that_leads_looks_at_machines(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    engine: Any = Leads()
    before = world.loop._pool
    world.loop._pool = Scheduling(
        engine, before.live, before.agents, before.decision, before.cordon
    )
    world.loop._tick_s = 0.01
    steps: list[tuple[str, int | None]] = []

    async def begin() -> None:
        steps.append(("begin", engine.epoch))

    async def tick() -> None:
        steps.append(("tick", engine.epoch))

    monkeypatch.setattr(world.fleet, "begin", begin)
    monkeypatch.setattr(world.loop, "tick", tick)
    task = asyncio.create_task(world.loop.run())
    await until(lambda: engine.asked == 1)
    assert steps == []
    await world.loop.take_over(1)
    engine.epoch = 1
    await until(lambda: len(steps) >= 3)
    engine.epoch = None
    await until(lambda: engine.asked == 2)
    steps.clear()
    engine.epoch = 2
    await asyncio.sleep(0)
    assert steps == [], "what runs is not known yet"
    await world.loop.take_over(2)
    await until(lambda: ("tick", 2) in steps)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert steps[:2] == [("begin", 2), ("tick", 2)]
    assert all(epoch is not None for _, epoch in steps)


async def test_a_former_leader_ends_and_starts_nothing(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    world.end(await started(world))
    await world.tick()
    launches = count_launches(world, monkeypatch)
    await world.raise_epoch()
    with pytest.raises(NotLeader):
        await world.tick(2 * MINUTE)
    assert world.machines == ["default-1"], "the new lead may have given it work"
    assert not await world.loop._try(world.tick)
    with pytest.raises(NotLeader):
        await world.fleet.launch(1)
    assert launches == []
    assert await world.records.orders() == []


async def test_an_old_lead_that_asks_again_for_an_end_is_held_up_too(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    world.end(await started(world))
    await world.tick()
    machines = await world.fleet.look()
    asked: list[Any] = []

    async def ends(machine_ids: Any) -> None:
        asked.append(machine_ids)

    monkeypatch.setattr(world.fleet._provider, "terminate", ends)
    await world.fleet.end(machines)
    await world.raise_epoch()
    with pytest.raises(NotLeader):
        await world.fleet.end([])
    assert asked == [["default-1"]]


async def test_machines_to_end_are_disabled_before_a_new_leader_admits_agents(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    world.end(await started(world))
    await world.records.note_leaving(["default-1"], world.now)
    world.begin()
    await world.loop.take_over(await world.raise_epoch())
    task = world.submit()
    await world.pool.tick()
    state = world.live.find(task)
    assert state is not None
    assert state.state == "PENDING"
