"""Agents and slots over the API: what is shown of them, and switching them off and on."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import ADMIN, snapshot
from tests.api.samples import World
from tests.covers import covers

from determined_master import clock, entropy
from determined_master.api.cluster.agents import AGENTS_AT_ONCE, get_agents
from determined_master.api.http.protojson import encode
from determined_master.api.http.routes import Call
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.schedule.view import AgentView
from determined_master.pools.live import LiveAllocations
from determined_master.services.cluster.agents import AgentReports, Agents
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.store.db import Database
from determined_wire.agent_link import ContainerReport, Device
from determined_wire.rest.agents import GetAgentsRequest

AGENT = "/api/v1/agents/a1"


def seen_as(world: World, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Let the one agent look otherwise."""
    backend = world.services[Agents]._backend
    agents = backend.agents
    monkeypatch.setattr(backend, "agents", lambda: [replace(a, **fields) for a in agents()])


async def shown(world: World) -> dict[str, Any]:
    agent: dict[str, Any] = (await world.clients["admin"]("GET", AGENT)).json()["agent"]
    return agent


async def switch(world: World, what: str, body: Any = None) -> None:
    answer = await world.clients["admin"]("POST", f"{AGENT}/{what}", body)
    assert answer.status == 200, answer.body


def view_of(world: World) -> AgentView:
    """The scheduler's view of the only agent."""
    connected = world.services[Agents]._backend.agents()
    [view] = world.services[LiveAllocations].view("default", connected).agents
    return view


def reports_of(world: World) -> AgentReports:
    services = world.services
    return AgentReports(
        world.engine, services[LiveAllocations], services[TaskLogs], lambda pool: None
    )


def held_by(world: World, names: dict[str, str]) -> alloc.Allocation:
    found = world.services[LiveAllocations].find(names["allocation_id"])
    assert found is not None
    return found


@covers("scheduling-and-provisioning d.1.not_websocket")
async def test_a_plain_request_is_no_agent(anonymous: Client, admin: Client) -> None:
    for client in (anonymous, admin):
        assert 400 <= (await client("GET", "/agents")).status < 500


@covers("scheduling-and-provisioning b.6.enable b.6.slot_shown d.2.shown")
async def test_enabling_an_agent_enables_all_its_slots(world: World) -> None:
    await switch(world, "slots/0/disable", {"drain": False})
    agent = await shown(world)
    assert (agent["enabled"], agent["draining"], agent["version"]) == (True, False, "0.39.0")
    assert agent["slots"]["/agents/a1/slots/0"]["enabled"] is False
    await switch(world, "disable", {"drain": True})
    await switch(world, "slots/0/enable")
    agent = await shown(world)
    assert (agent["enabled"], agent["draining"]) == (False, True)
    assert agent["slots"]["/agents/a1/slots/0"]["enabled"] is False
    await switch(world, "slots/0/disable", {"drain": True})
    await switch(world, "enable")
    agent = await shown(world)
    assert (agent["enabled"], agent["draining"]) == (True, False)
    slot = agent["slots"]["/agents/a1/slots/0"]
    assert (slot["enabled"], slot["draining"]) == (True, False)


async def test_a_master_that_has_lost_the_lead_changes_no_switch(
    world: World, pool: Database
) -> None:
    async with pool.acquire() as conn:
        await conn.execute("UPDATE leader SET epoch = epoch + 1")
    answer = await world.clients["admin"]("POST", "/api/v1/agents/a1/disable", {"drain": True})
    assert answer.status == 503
    async with pool.acquire() as conn:
        assert await conn.fetchval("SELECT count(*) FROM agent_switches") == 0
    assert (await shown(world))["enabled"] is True


@covers("scheduling-and-provisioning b.6.slot_disable b.6.slot_drain")
async def test_disabling_a_slot_ends_its_task_and_draining_it_does_not(world: World) -> None:
    await scene.running(world)
    await switch(world, "slots/0/disable", {"drain": True})
    assert held_by(world, world.names).kill_reason is None
    view = view_of(world)
    assert (view.slots, view.free_slots) == (0, ())
    await switch(world, "slots/0/disable", {"drain": False})
    assert held_by(world, world.names).kill_reason == "slot disabled"
    view = view_of(world)
    assert (view.slots, view.free_slots) == (0, ())
    await scene.container(world, world.names, "TERMINATED", exit_code=137)
    await switch(world, "slots/0/enable")
    view = view_of(world)
    assert (view.slots, view.free_slots) == (1, (0,))


@covers("scheduling-and-provisioning b.6.disable")
async def test_a_trial_on_a_disabled_agent_requests_again_without_counting_a_restart(
    world: World,
) -> None:
    await scene.running(world)
    await switch(world, "disable", {"drain": False})
    assert held_by(world, world.names).kill_reason == "agent disabled"
    await scene.container(world, world.names, "TERMINATED", exit_code=137)
    await asks_again(world)


async def asks_again(world: World) -> None:
    """The trial waits for slots for its second run, and no restart is counted."""
    admin, names = world.clients["admin"], world.names
    second = f"{names['task_id']}.2"
    await scene.until(
        admin,
        f"/api/v1/tasks/{names['task_id']}",
        lambda got: any(a["allocationId"] == second for a in got["task"]["allocations"]),
    )
    trial = (await admin("GET", f"/api/v1/trials/{names['trial_id']}")).json()["trial"]
    assert trial["restarts"] == 0


@covers("scheduling-and-provisioning b.6.away d.3.away_shown")
async def test_an_agent_that_is_away_is_shown_so_and_can_be_switched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen_as(world, monkeypatch, is_connected=False)
    agent = await shown(world)
    assert (agent["enabled"], agent["draining"]) == (False, True)
    slot = agent["slots"]["/agents/a1/slots/0"]
    assert (slot["enabled"], slot["draining"]) == (False, True)
    await switch(world, "disable", {"drain": True})
    await switch(world, "slots/0/disable", {"drain": False})
    monkeypatch.undo()
    agent = await shown(world)
    assert (agent["enabled"], agent["draining"]) == (False, True)


async def test_an_agent_on_which_nothing_starts_is_listed_with_the_end_of_its_rest(
    world: World,
) -> None:
    admin = world.clients["admin"]
    [agent] = (await admin("GET", "/api/v1/agents")).json()["agents"]
    assert not {"restingUntil", "failedStarts"} & agent.keys()
    for _ in range(7):  # the rest doubles: it lasts longer than this test on any machine
        world.services[LiveAllocations]._backoffs._begin("a1")
    before = clock.now()
    [agent] = (await admin("GET", "/api/v1/agents")).json()["agents"]
    assert agent["failedStarts"] == 7
    left = datetime.fromisoformat(agent["restingUntil"]) - before
    assert timedelta(seconds=64) < left <= timedelta(seconds=129)


async def test_a_list_of_many_agents_lets_others_have_their_turns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, turns = 10 * AGENTS_AT_ONCE, 0
    devices = tuple(Device(id=n, brand="b", uuid=str(n), type="cuda") for n in range(8))
    agents = [snapshot(f"a{n:04}", devices=devices) for n in range(count)]
    monkeypatch.setattr(world.services[Agents]._backend, "agents", lambda: agents)

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    call = Call(ADMIN, None)  # type: ignore[arg-type]  # not asked for here
    waiting = asyncio.create_task(others())
    try:
        answer = await get_agents.handler(call, GetAgentsRequest(), world.services[Agents])
    finally:
        waiting.cancel()
    assert turns >= count // AGENTS_AT_ONCE
    shown = json.loads(encode(answer))["agents"]
    assert [agent["id"] for agent in shown] == [agent.id for agent in agents]
    assert len(shown[-1]["slots"]) == 8


@covers("scheduling-and-provisioning b.6.unknown_agent b.6.bad_slot b.6.unknown_slot")
async def test_a_missing_agent_or_slot_cannot_be_switched(world: World) -> None:
    admin = world.clients["admin"]
    for path, status, said in (
        ("agents/zz/disable", 404, "agent 'zz' not found"),
        ("agents/zz/enable", 404, "agent 'zz' not found"),
        ("agents/zz/slots/0/disable", 404, "agent 'zz' not found"),
        ("agents/a1/slots/x/disable", 400, "invalid slot id: x"),
        ("agents/a1/slots/9/enable", 404, "slot '9' not found"),
    ):
        answer = await admin("POST", f"/api/v1/{path}", {})
        assert answer.status == status
        assert answer.text.startswith(said)


@covers("scheduling-and-provisioning b.6.pool_type")
@pytest.mark.parametrize(
    ("types", "shown_as"),
    [
        (("cuda", "cuda"), "TYPE_CUDA"),
        (("rocm",), "TYPE_ROCM"),
        (("cuda", "cpu"), "TYPE_UNSPECIFIED"),
        ((), "TYPE_UNSPECIFIED"),
    ],
    ids=["cuda", "rocm", "mixed", "none"],
)
async def test_a_pools_slots_have_the_type_that_all_its_devices_share(
    world: World, monkeypatch: pytest.MonkeyPatch, types: tuple[Any, ...], shown_as: str
) -> None:
    devices = tuple(Device(id=n, brand="", uuid=str(n), type=t) for n, t in enumerate(types))
    seen_as(world, monkeypatch, devices=devices)
    answer = await world.clients["admin"]("GET", "/api/v1/resource-pools")
    [pool] = answer.json()["resourcePools"]
    assert pool["slotType"] == shown_as


@covers("scheduling-and-provisioning d.4.missing d.3.not_counted")
async def test_a_container_that_its_agent_does_not_know_is_lost_and_not_counted(
    world: World,
) -> None:
    await scene.running(world)
    [agent] = world.services[Agents]._backend.agents()
    known = ContainerReport(world.names["container_id"], world.names["allocation_id"], "RUNNING")
    assert await reports_of(world).agent_joined(agent, (known,)) == (known.container_id,)
    assert held_by(world, world.names).state == "RUNNING"
    await reports_of(world).agent_joined(agent, ())
    await asks_again(world)
    log = await world.clients["admin"]("GET", f"/api/v1/trials/{world.names['trial_id']}/logs")
    assert b"agent a1 was lost: it came back without it" in log.body


@covers("scheduling-and-provisioning d.4.ended_away")
async def test_output_of_a_container_that_ended_while_its_agent_was_away_is_waited_for(
    world: World, pool: Database
) -> None:
    await scene.running(world)
    [agent] = world.services[Agents]._backend.agents()
    names = world.names
    ended = ContainerReport(names["container_id"], names["allocation_id"], "TERMINATED")
    others = ContainerReport(str(entropy.new_uuid()), names["allocation_id"], "TERMINATED")
    reports = reports_of(world)
    await reports.agent_joined(agent, (ended, others))

    async def cursors() -> list[tuple[str, str, bool]]:
        rows = await pool.fetch("SELECT container_id, task_id, is_complete FROM log_cursors")
        return [(str(r["container_id"]), r["task_id"], r["is_complete"]) for r in rows]

    assert await cursors() == [(names["container_id"], names["task_id"], False)]
    await reports.agent_lost("a1", "it did not come back")
    assert await cursors() == [(names["container_id"], names["task_id"], True)]


@covers("scheduling-and-provisioning d.3.not_back d.3.not_counted")
async def test_runs_on_a_lost_agent_are_lost_and_not_counted(
    world: World,
) -> None:
    await scene.running(world)
    await reports_of(world).agent_lost("another", "it did not come back")
    assert held_by(world, world.names).state == "RUNNING"
    await reports_of(world).agent_lost("a1", "it did not come back")
    await asks_again(world)


@covers("scheduling-and-provisioning b.5.host_network")
async def test_a_gang_over_several_agents_has_the_network_of_its_hosts(world: World) -> None:
    backend: Any = world.services[Agents]._backend
    backend.others = [snapshot("a2")]
    for count, network in ((1, "bridge"), (2, "host")):
        names = await scene.submitted(world)
        ids = [str(entropy.new_uuid()) for _ in range(count)]
        placed = tuple(alloc.Placed(id, f"a{n}", (0,)) for n, id in enumerate(ids, start=1))
        await scene.until(
            world.clients["admin"],
            f"/api/v1/tasks/{names['task_id']}",
            lambda got: got["task"]["allocations"],
        )
        await scene.post(world, names, alloc.Assigned(placed))
        found: list[Any] = []

        async def ordered(ids: list[str] = ids) -> list[Any]:
            return [o for o in world.orders() if o.container_id in ids]

        await scene.until_true(ordered, lambda got, n=count: len(got) == n, found)
        assert {order.spec.network_mode for order in found} == {network}
