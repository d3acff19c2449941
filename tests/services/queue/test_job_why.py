"""What holds a waiting job, as it is told to its users and to admins."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.domain.builders import T0
from tests.provision.machine_world import SLOTS, World, started

from determined_master.domain.access.rules import Caller
from determined_master.domain.schedule.why import Ahead, Next, Why
from determined_master.ports.kubernetes import ClusterTrouble, NodesAsked
from determined_master.services.queue.holders import Holder
from determined_master.services.queue.job_why import ClusterWaits, JobWhy, named, sentence
from determined_master.store.db import Database

ADMIN = Caller(user_id=1, username="admin", is_admin=True)
USER = Caller(user_id=2, username="user")
QUOTA = "the quota of machines is used up"


async def test_a_providers_error_text_is_shown_to_admins_only(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    task = world.submit_in_vain()
    await world.tick()
    await world.tick()
    decision = world.pool.decision
    assert decision is not None
    why = JobWhy(pool, world.live, lambda name: decision, lambda name: world.loop.status)
    assert f"no machine can be started at present: {QUOTA}" in (await why.why(ADMIN, task)).text
    short = "no machine can be started at present, and only admins see the provider's reason"
    shown = (await why.why(USER, task)).text
    assert short in shown
    assert QUOTA not in shown
    logged = await why.explain(decision, task)
    assert logged is not None
    assert short in logged, "logs are read by others too"
    assert QUOTA not in logged


async def test_an_api_server_that_is_away_comes_first_and_since_when(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    task = world.submit()
    await world.pool.tick()
    away = ClusterTrouble("the API server of Kubernetes does not answer", T0, "10.0.0.1 refused")
    for decision in (None, world.pool.decision):
        clusters = ClusterWaits(troubles=lambda name: away)
        why = JobWhy(pool, world.live, lambda name, d=decision: d, clusters=clusters)
        shown = (await why.why(USER, task)).text
        assert shown.startswith("the API server of Kubernetes does not answer since 00:00:00 UTC")
        assert "10.0.0.1" not in shown
        assert "10.0.0.1 refused" in (await why.why(ADMIN, task)).text


async def test_the_answer_to_a_request_for_nodes_is_shown(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    task = world.submit()
    await world.pool.tick()
    asked = NodesAsked(at=T0, text="it could not", admin_text="it could not: no GPUs")
    why = JobWhy(
        pool,
        world.live,
        lambda name: world.pool.decision,
        clusters=ClusterWaits(nodes_asked=lambda name, allocation_id: asked),
    )
    when = "; the cluster was asked for nodes for it at 00:00:00 UTC; it could not"
    assert (await why.why(USER, task)).text.endswith(when)
    assert (await why.why(ADMIN, task)).text.endswith(f"{when}: no GPUs")


async def test_devices_that_others_hold_are_named_for_tasks_with_slots_alone(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    held = "of 4 devices of DeviceClass gpu.nvidia.com, others hold 3"
    for slots in (1, 0):
        task = world.submit(slots=slots)
        await world.pool.tick()
        clusters = ClusterWaits(device_note=lambda name: held)
        why = JobWhy(pool, world.live, lambda name: world.pool.decision, clusters=clusters)
        assert (held in (await why.why(USER, task)).text) is bool(slots)


async def test_a_task_that_has_its_slots_and_does_not_start_is_named(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    why = JobWhy(pool, world.live, lambda name: None)
    task = await started(world)
    text = (await why.why(USER, task)).text
    assert text.startswith("nothing of it waits for slots: 1 of its tasks have theirs; ")
    assert f"has not started yet: see 'det task logs {task.rpartition('.')[0]}'" in text
    state = world.live.find(task)
    assert state is not None
    world.live.changed(replace(state, state="RUNNING"), 1_000_000)
    assert "started yet" not in (await why.why(USER, task)).text


async def test_a_task_whose_pods_wait_in_the_cluster_has_the_reason_of_its_queue(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    asked: list[tuple[str, str]] = []

    def waits_for(name: str, allocation_id: str) -> str:
        asked.append((name, allocation_id))
        return "waits in kueue's LocalQueue 'lab'"

    why = JobWhy(pool, world.live, lambda name: None, clusters=ClusterWaits(waits_for=waits_for))
    task = await started(world)
    shown = await why.why(USER, task)
    assert shown.text.endswith(" waits in kueue's LocalQueue 'lab'")
    assert "waits for slots" not in shown.text
    assert (shown.waiting, shown.running) == (1, 0)
    [state] = world.live.values()
    assert asked == [(state.request.pool, state.id)]


async def test_a_job_is_found_by_the_id_of_its_task(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    why = JobWhy(pool, world.live, lambda name: None)
    task, _, _ = world.submit(job_id="job-of-a-command").rpartition(".")
    shown = await why.why(USER, task)
    assert (shown.job_id, shown.waiting) == ("job-of-a-command", 1)


def test_tasks_that_a_reader_may_not_see_have_no_ids() -> None:
    why = Why(
        allocation_id="own.1",
        job_id="own",
        pool="default",
        decided_at=T0,
        code="room",
        reason="4 slots are not free",
        reason_without_ids="4 slots are not free",
        behind="",
        needs_slots=4,
        is_single_node=True,
        waits_since=T0,
        free_slots=0,
        largest_hole=0,
        free=(),
        ahead_count=2,
        ahead=(Ahead("hidden.1", "hidden", 8, 1), Ahead("open.1", "open", 2, 42)),
        next=(Next("hidden.2", "hidden", 4, ("a1",), True, None),),
        smaller=None,
    )
    shown = named(why, {"own.1", "open.1"})
    assert shown.ahead == (Ahead("", "", 8, 1), Ahead("open.1", "open", 2, 42))
    assert shown.next == (Next("", "", 4, ("a1",), True, None),)
    text = "4 slots are not free; 2 ahead of it; another task is leaving 4 slots"
    holder = Holder(name="Trial 7", user_id=2, task_id="hidden", trial_id=7, experiment_id=1)
    assert sentence(shown, {"hidden.2": holder}) == text
    assert "Trial 7 is leaving" in sentence(why, {"hidden.2": holder})


async def test_tasks_ahead_and_next_are_named_with_their_owners(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    running = await started(world)
    first, second = (world.submit(slots=SLOTS) for _ in range(2))
    await world.pool.tick()
    why = JobWhy(pool, world.live, lambda name: world.pool.decision)
    shown = await why.why(USER, second)
    assert shown.why is not None
    assert [a.allocation_id for a in shown.why.ahead] == [first]
    for allocation_id in (first, running):
        state = world.live.find(allocation_id)
        assert state is not None
        holder = shown.holders[allocation_id]
        assert (holder.name, holder.task_id) == (state.request.name, state.request.task_id)
