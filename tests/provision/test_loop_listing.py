"""The calls of a cloud that a loop makes: few while nothing changes, and none that is late."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.agent_link import until
from tests.provision.machine_world import World, started

from determined_master.ports.machines import ProviderFailed
from determined_master.store.db import Database

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


async def test_a_pool_at_rest_calls_its_cloud_once_a_minute(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    await started(world)
    await world.tick(MINUTE)
    world.cloud.calls.clear()
    for _ in range(120):
        await world.tick()
    assert world.cloud.calls == ["list"] * 10


async def test_a_machine_that_somebody_ended_is_noticed_soon_after_its_agent_has_gone(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.end(await started(world))
    await world.tick(MINUTE)
    world.cloud.machines["default"].clear()
    world.leave("default-1")
    await world.tick()
    [(_, _, ended_at)] = await world.stays()
    assert ended_at is not None
    assert world.loop.status.machines == 0


async def test_new_work_gets_its_machine_by_a_list_of_the_same_tick(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_machines=1)
    await world.tick()
    world.cloud.launch("default", 1, "by somebody else, with the same tags")
    world.cloud.calls.clear()
    world.submit()
    await world.tick(SECOND)
    assert world.cloud.calls == ["list"]
    assert world.machines == ["default-1"], "it counts"


async def test_a_list_that_failed_is_repeated_as_often_as_before_and_nothing_acts_on_the_old_one(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    await world.tick()
    world.cloud.is_reachable = False
    world.cloud.calls.clear()
    world.submit()
    for _ in range(10):
        with pytest.raises(ProviderFailed, match="does not answer"):
            await world.tick(SECOND)
    assert world.cloud.calls == ["list", "list"]
    world.cloud.is_reachable = True
    for _ in range(5):
        await world.loop._try(lambda: world.tick(SECOND))
    assert world.machines == ["default-1"]


async def test_a_new_plan_is_acted_on_without_waiting_for_the_next_regular_tick(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.loop._tick_s = 3600.0
    monkeypatch.setattr("determined_master.provision.loop.LOOK_S", 0.01)

    async def leads(timeout_s: float | None = 30) -> int:
        return 1

    monkeypatch.setattr(world.engine, "wait_until_leading", leads, raising=False)
    await world.pool.tick()
    world.engine.epoch = await world.raise_epoch()
    await world.loop.take_over(world.engine.epoch)
    task = asyncio.create_task(world.loop.run())
    try:
        await until(lambda: "list" in world.cloud.calls)
        world.submit()
        await world.pool.tick()
        await until(lambda: world.machines)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
