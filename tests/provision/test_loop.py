"""The loop of a pool of machines on demand (scheduling and provisioning, c.2 and c.6)."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest
from tests.agent_link import until
from tests.covers import covers
from tests.domain.builders import alloc, run
from tests.pools.test_live import snapshot
from tests.provision.machine_world import World

from determined_master.domain.allocation.messages import Refused
from determined_master.domain.launch_errors import Patience
from determined_master.engine.errors import NotLeader
from determined_master.ports import ProviderFailed
from determined_master.provision import loop as subject
from determined_master.store.pool import Pool

E = "scheduling-and-provisioning"
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


@covers(f"{E} c.2.agent_name")
async def test_work_gets_a_machine_runs_there_and_the_machine_leaves(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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


async def test_an_agent_with_fewer_slots_than_its_machine_keeps_nobody_waiting(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.submit()
    await world.tick()
    world.join()
    await world.tick(plans=False)
    assert len(world.machines) == 1


@covers(f"{E} c.2.busy")
async def test_what_begins_on_a_machine_just_before_its_end_keeps_it(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_idle=MINUTE, min_machines=0)
    world.end(await started(world))
    await world.tick()
    [agent] = world.agents
    shut = world.pool.shut
    task = world.submit()

    async def begins(names: frozenset[str]) -> None:
        """A plan was on its way when the agent was shut."""
        if names:
            await world.pool.tick()
        await shut(names)

    world.loop._pool = replace_shut(world, begins)
    await world.tick(2 * MINUTE, plans=False)
    state = world.live.find(task)
    assert state is not None
    assert [c.agent_id for c in state.containers] == [agent.id]
    assert world.machines == ["default-1"]
    assert world.pool._shut == frozenset()


def replace_shut(world: World, shut: Any) -> subject.Scheduling:
    before = world.loop._pool
    return subject.Scheduling(before.engine, before.live, before.agents, before.decision, shut)


async def test_nothing_starts_on_a_machine_that_is_on_its_way_out(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
    assert world.pool._shut == {"default-1"}, "its agent is not gone yet"
    world.leave("default-1")
    await world.tick()
    assert world.pool._shut == frozenset()


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


async def test_an_end_that_the_provider_fails_is_asked_for_again(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
    assert world.loop.news.trouble == "default-1 is protected"


async def test_new_machines_count_before_the_list_has_them(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.cloud.is_lagging = True
    world.submit(slots=4)
    for _ in range(5):
        await world.tick()
    assert len(world.machines) == 2
    world.begin()
    await world.lead()
    for _ in range(5):
        await world.tick()
    assert len(world.machines) == 2, "nor after a restart of the master"
    world.cloud.show_all()
    await world.tick()
    assert [id for id, _, ended in await world.stays() if ended is None] == world.machines


async def test_an_order_whose_answer_was_lost_starts_nothing_twice(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.cloud.is_lagging = world.cloud.loses_answers = True
    world.submit(slots=4)
    for _ in range(3):
        await world.tick()
    assert world.cloud.launches == [("default", 2)]
    world.cloud.loses_answers = False
    world.begin()
    await world.lead()
    assert not world.fleet.is_settled
    for _ in range(3):
        await world.tick()
    assert world.cloud.launches == [("default", 2)]
    assert world.fleet.is_settled
    assert await world.records.orders() == []


async def test_an_old_order_is_not_given_again(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.cloud.loses_answers = True
    world.submit()
    await world.tick()
    world.cloud.loses_answers = False
    world.now += timedelta(hours=1)
    world.begin()
    await world.lead()
    assert world.fleet.is_settled
    assert await world.records.orders() == []


@covers(f"{E} c.2.tick c.2.news")
async def test_a_cloud_that_does_not_answer_is_told_once_and_nothing_is_done(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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
        "not all could be done for machines, it is tried again: the cloud does not answer"
    ]
    assert world.loop.news.trouble == "the cloud does not answer"
    assert len(world.machines) == 1
    world.cloud.is_reachable = True
    assert await world.loop._try(world.tick)
    assert len(world.machines) == 3


@covers(f"{E} c.2.reasons")
async def test_each_machine_that_goes_is_told_with_its_reason(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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


@covers(f"{E} c.6.no_launch c.6.sent_away c.6.smaller c.6.cleared")
async def test_while_a_failure_counts_what_is_too_large_is_sent_away_once(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = Patience(timeout=10 * MINUTE, retries=1)
    world = World(pool, monkeypatch, patience=patience)
    busy = await started(world)
    world.cloud.room = 0
    large, small = world.submit(slots=4), world.submit(slots=2)
    await world.tick()
    assert world.live.find(large) is not None, "the first failure does not count"
    await world.tick()
    assert world.live.find(large) is None
    assert world.live.find(small) is not None
    assert world.live.find(busy) is not None
    [sent] = [e for e in world.engine.posted if isinstance(e, Refused)]
    assert sent.reason.endswith(": the quota of machines is used up")
    assert sent.is_for_now
    launches = count_launches(world, monkeypatch)
    again = world.submit(slots=4, task_id="task-2")
    await world.tick()
    await world.tick()
    assert world.live.find(again) is not None, "the same task is told once"
    assert launches == []
    assert "until 00:10:" in world.loop.news.sentence()
    world.cloud.room = None
    await world.tick(11 * MINUTE)
    assert launches == [3]
    assert world.loop.news.failure == ""


def count_launches(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    asked: list[int] = []
    real = world.fleet._provider.launch

    async def counted(count: int, token: str) -> Any:
        asked.append(count)
        return await real(count, token)

    monkeypatch.setattr(world.fleet._provider, "launch", counted)
    return asked


@covers(f"{E} c.6.never")
async def test_without_a_timeout_a_failure_sends_nobody_away_and_is_tried_again(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.cloud.room = 0
    task = world.submit(slots=4)
    launches = count_launches(world, monkeypatch)
    tries = []
    for _ in range(60):
        await world.tick()
        tries.append(len(launches))
    pauses = [tries.index(n + 1) - tries.index(n) for n in range(1, tries[-1])]
    assert pauses == [1, 2, 4, 8, 12, 12, 12], "in ticks of 5 s: up to a minute"
    assert set(launches) == {2}
    assert world.live.find(task) is not None
    assert world.loop.news.sentence() == (
        "no machine can be started at present: the quota of machines is used up"
    )


async def test_a_failure_of_a_launch_that_nobody_waits_for_any_more_is_not_told(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.cloud.room = 0
    task = world.submit()
    await world.tick()
    assert world.loop.news.failure
    world.live.changed(
        run(alloc.KillRequested(reason="by a user"), state=world.live.find(task))[0], 9
    )
    await world.tick()
    assert world.loop.news.failure == ""


async def test_machines_that_are_never_listed_are_a_failure_and_stay_below_the_maximum(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Something outside takes the tags from them, say: each round would start as many again."""
    world = World(pool, monkeypatch, max_machines=3)
    world.cloud.is_lagging = True
    world.submit(slots=4)
    await world.tick()
    assert len(world.machines) == 2
    for _ in range(13):
        await world.tick()
    assert world.loop.news.failure.startswith("2 machines were started and never listed: ")
    for _ in range(100):
        await world.tick()
    assert len(world.machines) == 3
    assert "never listed" in caplog.text
    world.cloud.show_all()
    for _ in range(4):
        await world.tick()
    assert world.fleet.held == 0
    assert world.loop.news.machines == 3
    assert world.loop.news.failure == ""


async def test_machines_whose_agents_never_come_are_told(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong image, say: each costs until it is given up, and another takes its place."""
    world = World(pool, monkeypatch, max_starting=MINUTE)
    world.submit()
    for _ in range(14):
        await world.tick(MINUTE)
    assert "the last machine was ended because no agent came" in world.loop.news.sentence()
    for _ in range(12):
        await world.tick(MINUTE)
    assert world.loop.news.silent > 1
    assert f"{world.loop.news.silent} in a row were ended" in world.loop.news.sentence()
    world.join(world.machines[-1])
    await world.tick()
    await world.tick()
    assert world.loop.news.silent == 0


async def test_a_master_that_leads_again_writes_down_what_another_has_struck_out(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.submit()
    await world.tick()
    await world.tick()
    await pool.execute("UPDATE machine_stays SET ended_at = seen_at")
    await world.lead()
    await world.tick()
    assert [ended for _, _, ended in await world.stays()][-1] is None


async def test_machines_that_a_new_lead_does_not_find_are_told(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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
    told = [getattr(r, "machines", None) for r in caplog.records if "run on unseen" in r.message]
    assert told == [["default-1"]]


async def test_stays_are_from_the_launch_until_a_machine_was_seen_last(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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


async def test_what_was_asked_to_end_before_a_restart_is_not_used_again(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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


async def test_idle_times_go_on_over_a_restart_and_end_with_work(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    engine: Any = Leads()
    before = world.loop._pool
    world.loop._pool = subject.Scheduling(
        engine, before.live, before.agents, before.decision, before.shut
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


async def test_a_lead_that_is_over_ends_and_starts_nothing(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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


async def test_what_was_asked_to_end_is_shut_before_a_new_lead_lets_agents_in(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
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
