"""The loop of a pool of machines on demand (scheduling and provisioning, c.2 and c.6)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.covers import covers
from tests.pools.snapshots import snapshot
from tests.provision.machine_world import World, started

from determined_master.ports.machines import ProviderFailed
from determined_master.provision import loop as subject
from determined_master.provision.scheduling import Scheduling
from determined_master.store.db import Database

E = "scheduling-and-provisioning"
MINUTE = timedelta(minutes=1)


@covers(f"{E} c.2.agent_name")
async def test_work_gets_a_machine_runs_there_and_the_machine_leaves(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    await world.tick()
    assert world.machines == []
    task = world.submit(slots=2)
    await world.tick()
    assert world.machines == ["default-1"]
    for _ in range(10):
        await world.tick()
    assert world.machines == ["default-1"], "what starts is waited for"
    world.join()
    await world.tick()
    await world.tick()
    state = world.live.find(task)
    assert state is not None
    assert [c.agent_id for c in state.containers] == ["default-1"]
    for _ in range(10):
        await world.tick(MINUTE)
    assert world.machines == ["default-1"], "what is busy stays"
    world.end(task)
    await world.tick()
    await world.tick(MINUTE)
    assert world.machines == ["default-1"]
    await world.tick()
    assert world.machines == []


async def test_a_gang_gets_all_of_its_machines_and_waits_for_the_last(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    task = world.submit(slots=6)
    await world.tick()
    assert len(world.machines) == 3
    world.join("default-1")
    for _ in range(6):
        await world.tick(MINUTE)
    assert len(world.machines) == 3, "the first waits idle for the others"
    world.join()
    await world.tick()
    await world.tick()
    state = world.live.find(task)
    assert state is not None
    assert len(state.containers) == 3
    assert len(world.machines) == 3


async def test_a_machine_that_is_taken_back_is_replaced_before_its_work_has_left(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    task = world.submit(slots=2, is_preemptible=True)
    await world.tick()
    world.join()
    await world.tick()
    world.agents = [replace(a, is_draining=True, is_ending=True) for a in world.agents]
    await world.tick()
    assert world.machines == ["default-1", "default-2"]
    await world.tick()
    assert world.machines == ["default-1", "default-2"], "it is asked for once"
    world.join("default-2")
    await world.tick()
    assert world.machines == ["default-1", "default-2"], "it waits for the work"
    world.end(task)
    world.submit(slots=2)
    await world.tick()
    assert world.machines == ["default-1", "default-2"]


async def test_a_replacement_stays_until_work_comes_whose_agent_is_away(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    task = world.submit(slots=2, is_preemptible=True)
    await world.tick()
    world.join()
    await world.tick()
    world.agents = [replace(a, is_draining=True, is_ending=True) for a in world.agents]
    await world.tick()
    world.join("default-2")
    [old] = [a for a in world.agents if a.is_ending]
    world.agents = [replace(a, is_connected=a is not old) for a in world.agents]
    for _ in range(5):
        await world.tick(MINUTE)
        assert world.machines == ["default-1", "default-2"]
    world.end(task)
    await world.tick()
    await world.tick(2 * MINUTE)
    assert "default-2" not in world.machines, "nothing needs it any more"


async def test_work_that_cannot_leave_gets_no_second_machine(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    world.submit(slots=2, is_preemptible=False)
    await world.tick()
    world.join()
    await world.tick()
    world.agents = [replace(a, is_draining=True, is_ending=True) for a in world.agents]
    await world.tick()
    assert world.machines == ["default-1"]


async def test_a_machine_that_runs_nothing_is_taken_back_without_a_replacement(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=10 * MINUTE)
    task = world.submit(slots=2)
    await world.tick()
    world.join()
    await world.tick()
    world.end(task)
    await world.tick()
    world.agents = [replace(a, is_draining=True, is_ending=True) for a in world.agents]
    for _ in range(3):
        await world.tick()
    assert world.machines in (["default-1"], [])
    world.submit(slots=2)
    await world.tick()
    assert "default-2" in world.machines


async def test_a_free_machine_replaces_one_that_is_taken_back(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=10 * MINUTE)
    world.submit(slots=2, is_preemptible=True)
    other = world.submit(slots=2)
    await world.tick()
    world.join()
    await world.tick()
    world.end(other)
    await world.tick()
    state = next(s for s in world.live.values() if s.id != other)
    [busy] = {c.agent_id for c in state.containers}
    world.agents = [
        replace(a, is_draining=True, is_ending=True) if a.id == busy else a for a in world.agents
    ]
    await world.tick()
    assert len(world.machines) == 2


async def test_an_agent_with_fewer_slots_than_its_machine_keeps_nobody_waiting(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    task = world.submit(slots=2)
    await world.tick()
    world.cloud.set_state("default-1", "running")
    world.agents.append(snapshot("default-1", 1))
    await world.tick()
    await world.tick()
    assert world.machines == ["default-1", "default-2"], "one that has both is started"
    world.join("default-2")
    await world.tick()
    state = world.live.find(task)
    assert state is not None
    assert [c.agent_id for c in state.containers] == ["default-2"]
    await world.tick(2 * MINUTE)
    assert world.machines == ["default-2"]


async def test_an_agent_that_came_after_the_last_plan_is_not_taken_for_idle(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.submit()
    await world.tick()
    world.join()
    await world.tick(plans=False)
    assert len(world.machines) == 1


@covers(f"{E} c.2.busy")
async def test_a_task_that_starts_just_before_a_machines_end_keeps_the_machine(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE, min_machines=0)
    world.end(await started(world))
    await world.tick()
    [agent] = world.agents
    cordon = world.pool.cordon
    task = world.submit()

    async def begins(names: frozenset[str]) -> None:
        """A plan was on its way when the agent was shut."""
        if names:
            await world.pool.tick()
        await cordon(names)

    world.loop._pool = replace_shut(world, begins)
    await world.tick(2 * MINUTE, plans=False)
    state = world.live.find(task)
    assert state is not None
    assert [c.agent_id for c in state.containers] == [agent.id]
    assert world.machines == ["default-1"]
    assert world.pool._cordoned == frozenset()


def replace_shut(world: World, shut: Any) -> Scheduling:
    before = world.loop._pool
    return Scheduling(before.engine, before.live, before.agents, before.decision, shut)


async def test_nothing_starts_on_a_machine_that_is_on_its_way_out(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    world.end(await started(world))
    await world.tick()

    async def nothing(machine_ids: Any) -> None:
        """It takes a while."""

    monkeypatch.setattr(world.fleet._provider, "terminate", nothing)
    await world.tick(2 * MINUTE)
    assert world.machines == ["default-1"]
    task = world.submit()
    await world.tick()
    await world.tick()
    state = world.live.find(task)
    assert state is not None
    assert state.state == "PENDING"
    assert world.machines == ["default-1", "default-2"], "it does not count any more"
    world.cloud.machines["default"].pop(0)
    await world.tick()
    assert world.pool._cordoned == {"default-1"}, "its agent is not gone yet"
    world.leave("default-1")
    await world.tick()
    assert world.pool._cordoned == frozenset()


async def test_an_end_that_the_provider_fails_is_asked_for_again(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE)
    world.end(await started(world))
    await world.tick()
    asked: list[list[str]] = []
    real = world.fleet._provider.terminate

    async def fails(machine_ids: Any) -> None:
        asked.append(list(machine_ids))
        raise ProviderFailed("the cloud is closed")

    monkeypatch.setattr(world.fleet._provider, "terminate", fails)
    with pytest.raises(ProviderFailed):
        await world.tick(2 * MINUTE)
    with pytest.raises(ProviderFailed):
        await world.tick()
    assert asked == [["default-1"], ["default-1"]]
    monkeypatch.setattr(world.fleet._provider, "terminate", real)
    await world.tick()
    assert world.machines == []


async def test_a_machine_that_cannot_be_ended_keeps_no_other_from_being_started(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE, max_machines=2)
    world.end(await started(world))
    await world.tick()

    async def fails(machine_ids: Any) -> None:
        raise ProviderFailed("default-1 is protected")

    monkeypatch.setattr(world.fleet._provider, "terminate", fails)
    assert not await world.loop._try(lambda: world.tick(2 * MINUTE))
    world.submit(slots=4)
    for _ in range(3):
        assert not await world.loop._try(world.tick)
    assert world.machines == ["default-1", "default-2"], "it counts: it still costs"
    assert world.loop.status.trouble == "default-1 is protected"


@covers(f"{E} c.2.tick c.2.news")
async def test_a_silent_cloud_is_logged_once_and_nothing_is_done(
    pool: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert subject.TICK_S == 5.0
    world = World(pool, monkeypatch)
    await world.lead()
    world.submit()
    await world.tick()
    came = [r for r in caplog.records if r.message == "the list of machines has changed"]
    assert [getattr(r, "came", None) for r in came] == []
    await world.tick()
    came = [r for r in caplog.records if r.message == "the list of machines has changed"]
    assert [(getattr(r, "came", None), getattr(r, "went", None)) for r in came] == [
        (["default-1"], [])
    ]
    caplog.clear()
    world.cloud.is_reachable = False
    world.submit(slots=4)
    for _ in range(3):
        assert not await world.loop._try(world.tick)
    assert [r.message for r in caplog.records] == [
        "some work on machines failed; retrying: the cloud does not answer"
    ]
    assert world.loop.status.trouble == "the cloud does not answer"
    assert len(world.machines) == 1
    world.cloud.is_reachable = True
    assert await world.loop._try(world.tick)
    assert len(world.machines) == 3


@covers(f"{E} c.2.reasons")
async def test_each_ended_machine_is_logged_with_its_reason(
    pool: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world = World(pool, monkeypatch, max_starting=MINUTE)
    world.submit(slots=4)
    await world.tick()
    world.join("default-2")
    world.cloud.set_state("default-1", "stopped")
    await world.tick()
    told = [(r.message, r.machine) for r in caplog.records if hasattr(r, "machine")]
    assert told == [("a machine is ended: stopped", "default-1")]
