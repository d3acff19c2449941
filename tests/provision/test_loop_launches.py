"""Launches by the loop of a pool of machines on demand: what is lost, late or fails (c.6)."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from tests.covers import covers
from tests.domain.builders import alloc, run
from tests.provision.machine_world import World, count_launches, started

from determined_master.domain.allocation.messages import Refused
from determined_master.domain.machines.controller.launch_backoff import LaunchRetryPolicy
from determined_master.domain.machines.scaling import Limits
from determined_master.store.db import Database

E = "scheduling-and-provisioning"
MINUTE = timedelta(minutes=1)


async def test_new_machines_count_before_the_list_has_them(
    pool: Database, monkeypatch: pytest.MonkeyPatch
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
    pool: Database, monkeypatch: pytest.MonkeyPatch
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
    pool: Database, monkeypatch: pytest.MonkeyPatch
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


@covers(f"{E} c.6.no_launch c.6.sent_away c.6.smaller c.6.cleared")
async def test_while_a_failure_counts_what_is_too_large_is_sent_away_once(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = LaunchRetryPolicy(timeout=10 * MINUTE, retries=1)
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
    assert "the quota" not in sent.reason, "the provider's words are for admins"
    assert sent.reason.endswith("the master's log has the provider's reason, for admins")
    assert sent.is_for_now
    launches = count_launches(world, monkeypatch)
    again = world.submit(slots=4, task_id="task-2")
    await world.tick()
    await world.tick()
    assert world.live.find(again) is not None, "the same task is told once"
    assert launches == []
    assert "until 00:10:" in world.loop.status.sentence()
    world.cloud.room = None
    await world.tick(11 * MINUTE)
    assert launches == [3]
    assert world.loop.status.failure == ""


@covers(f"{E} c.6.never")
async def test_without_a_timeout_a_failure_sends_nobody_away_and_is_tried_again(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    task = world.submit_in_vain(slots=4)
    launches = count_launches(world, monkeypatch)
    tries = []
    for _ in range(60):
        await world.tick()
        tries.append(len(launches))
    pauses = [tries.index(n + 1) - tries.index(n) for n in range(1, tries[-1])]
    assert pauses == [1, 2, 4, 8, 12, 12, 12], "in ticks of 5 s: up to a minute"
    assert set(launches) == {2}
    assert world.live.find(task) is not None
    assert world.loop.status.sentence(for_admin=True) == (
        "no machine can be started at present: the quota of machines is used up"
    )


async def test_a_failed_launch_without_waiting_requests_is_not_shown(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    task = world.submit_in_vain()
    await world.tick()
    assert world.loop.status.failure
    world.live.changed(
        run(alloc.KillRequested(reason="by a user"), state=world.live.find(task))[0], 9
    )
    await world.tick()
    assert world.loop.status.failure == ""


async def test_machines_that_are_never_listed_are_a_failure_and_stay_below_the_maximum(
    pool: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Something outside takes the tags from them, say: each round would start as many again."""
    world = World(pool, monkeypatch, max_machines=3)
    world.cloud.is_lagging = True
    world.submit(slots=4)
    await world.tick()
    assert len(world.machines) == 2
    for _ in range(13):
        await world.tick()
    assert world.loop.status.failure.startswith("2 machines were started and never listed: ")
    for _ in range(100):
        await world.tick()
    assert len(world.machines) == 3
    assert "never listed" in caplog.text
    world.cloud.show_all()
    for _ in range(4):
        await world.tick()
    assert world.fleet.held == 0
    assert world.loop.status.machines == 3
    assert world.loop.status.failure == ""


async def test_machines_whose_agents_never_join_are_reported(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong image, say: each costs until it is given up."""
    world = World(pool, monkeypatch, max_starting=MINUTE)
    world.submit()
    for _ in range(4):
        await world.tick(MINUTE)
    assert world.loop.status.sentence() == (
        "no agent joined from the last machine: admins find the reason in the cloud's "
        "console log; "
        "the next is tried, alone, after 00:08:00 UTC"
    )
    for _ in range(12):
        await world.tick(MINUTE)
    assert "no agent joined from the last 2 machines" in world.loop.status.sentence()
    for _ in range(10):
        await world.tick(MINUTE)
    world.join(world.machines[-1])
    await world.tick()
    await world.tick()
    assert world.loop.status.silent == 0


@pytest.mark.slow
async def test_machines_whose_agents_never_come_are_replaced_later_each_time_and_one_by_one(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_starting=MINUTE)
    world.submit(slots=4)
    launches = count_launches(world, monkeypatch)
    at = []
    for minute in range(146):
        await world.tick(MINUTE)
        at += [minute] * (len(launches) - len(at))
    assert launches[0] == 2
    assert set(launches[1:]) == {1}
    waits = [after - before for before, after in itertools.pairwise(at)]
    given_up = 2  # minutes after a launch
    assert waits == [given_up + rest for rest in (5, 10, 20, 40, 60)]
    world.join(world.machines[-1])
    for _ in range(3):
        await world.tick()
    assert launches[-1] == 1, "the rest of the gang, at once"
    assert len(launches) == len(at) + 1


async def test_machines_that_stop_before_their_agents_come_are_replaced_later_each_time(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    world.submit()
    launches = count_launches(world, monkeypatch)
    for _ in range(60):
        await world.tick(MINUTE)
        for id in world.machines:
            world.cloud.set_state(id, "stopped")
    assert len(launches) == 4, "after 5, 10 and 20 minutes more"


async def test_a_machine_that_fails_alone_is_replaced_at_once(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_starting=MINUTE)
    world.submit(slots=4)
    await world.tick()
    world.join(world.machines[0])
    launches = count_launches(world, monkeypatch)
    for _ in range(3):
        await world.tick(MINUTE)
    assert launches == [1]
    assert world.loop.status.silent == 0


async def test_an_end_that_the_loop_asks_for_is_no_machine_without_an_agent(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch, max_machines=2)
    task = world.submit(slots=4)
    await world.tick()
    world.end(task)
    world.set_limits(Limits(max_machines=0))
    await world.tick()
    assert world.machines == []
    world.set_limits(Limits(max_machines=2))
    launches = count_launches(world, monkeypatch)
    world.submit(slots=4)
    await world.tick()
    assert launches == [2]
