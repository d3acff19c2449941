"""Machines that report that they cannot start their agent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.provision.machine_world import World

from determined_master.domain.machines.starts import MachineStart
from determined_master.store.cluster import agent_keys
from determined_master.store.cluster import machines as rows
from determined_master.store.db import Database

MINUTE = timedelta(minutes=1)
NO_IMAGE = MachineStart(step="image", detail="manifest unknown", has_failed=True)
NO_AGENT = MachineStart(step="agent", detail="Docker is not there", has_failed=True)


async def failed_start(db: Database, patch: pytest.MonkeyPatch) -> World:
    """A pool whose only machine has reported that it cannot start its agent."""
    world = World(db, patch)
    await world.lead()
    world.submit()
    await world.tick()
    [machine] = world.machines
    async with db.acquire() as conn:
        assert await rows.set_start(conn, "default", machine, NO_IMAGE)
    return world


async def test_a_machine_that_cannot_start_is_ended_at_once_and_its_reason_is_shown(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await failed_start(pool, monkeypatch)
    await world.tick()
    assert world.machines == []
    assert "the agent's image cannot be pulled" in world.loop.status.sentence()
    await world.tick(MINUTE)
    assert world.machines == []  # the next is tried after a pause
    await world.tick(5 * MINUTE)
    assert len(world.machines) == 1


async def test_a_report_is_known_to_the_next_leader(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await failed_start(pool, monkeypatch)
    world.begin()
    await world.lead()
    await world.tick()
    assert world.machines == []


async def test_a_machine_whose_agent_has_joined_before_is_not_ended_by_a_report(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tasks may run until the agent is back."""
    world = World(pool, monkeypatch)
    await world.lead()
    world.submit()
    await world.tick()
    [machine] = world.machines
    async with pool.acquire() as conn:
        await agent_keys.upsert_key(conn, machine, b"0" * 32, world.now)
        assert await rows.set_start(conn, "default", machine, NO_AGENT)
    await world.tick()
    assert world.machines == [machine]
