"""The loop of a pool of machines on demand while the clock of the master is set."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.provision.machine_world import World, started

from determined_master.domain.machines.controller.launch_backoff import LaunchRetryPolicy
from determined_master.store.db import Database

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("patience", [LaunchRetryPolicy(), LaunchRetryPolicy(timeout=MINUTE)])
async def test_a_clock_that_is_set_back_holds_up_no_launch(
    pool: Database, monkeypatch: pytest.MonkeyPatch, patience: LaunchRetryPolicy
) -> None:
    """After a failure the next try has its time, which an hour more has never seen."""
    world = World(pool, monkeypatch, max_idle=MINUTE, patience=patience)
    world.submit_in_vain()
    await world.tick()
    assert world.loop.status.failure
    world.jump(-HOUR)
    world.cloud.room = None
    world.submit()
    await world.tick()
    assert world.machines


async def test_a_clock_that_is_set_forward_ends_no_machine_before_its_time(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=10 * MINUTE, max_disconnected=10 * MINUTE)
    task = await started(world)
    world.end(task)
    await world.tick()
    assert len(world.machines) == 1
    world.jump(HOUR)
    await world.tick()
    assert len(world.machines) == 1
    [machine] = world.machines
    world.leave(world.agents[0].id)
    await world.tick()
    world.jump(HOUR)
    await world.tick()
    assert world.machines == [machine]
    for _ in range(3):
        await world.tick(5 * MINUTE)
    assert world.machines == []


async def test_a_clock_that_is_set_back_keeps_no_idle_machine_longer(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=10 * MINUTE)
    task = await started(world)
    world.end(task)
    await world.tick()
    world.jump(-HOUR)
    await world.tick()
    for _ in range(3):
        await world.tick(5 * MINUTE)
    assert world.machines == []
