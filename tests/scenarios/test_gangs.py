"""Gangs of many containers through a whole master: rows of their own, and every recovery."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from bench.cluster import SIMULATED_MACHINES
from bench.simulated_agents import Fleet, settings_for
from tests.agent_link import Listener, listening, until
from tests.api.client import Client
from tests.api.master import ADMIN
from tests.scenarios.masters import master, submit

from determined_master.app import App
from determined_master.domain.allocation.container_rows import MAX_IN_STATE
from determined_master.domain.allocation.messages import Allocation
from determined_master.engine.kind import STATE_LIMIT_BYTES
from determined_master.services.access.passwords import Passwords
from determined_master.services.tasks.allocations import Allocations
from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourcePool
from determined_master.settings.security import Security
from determined_master.store.db import Address, Database

pytestmark = pytest.mark.slow
AGENTS = 64
SLOTS = 4


def settings(reconnect_wait_s: float) -> Settings:
    return Settings(
        host="127.0.0.1",
        checkpoint_storage={"type": "shared_fs", "host_path": "/tmp/storage"},
        security=Security(agent_join="open", agent_networks=(SIMULATED_MACHINES,)),
        resource_pools=(
            ResourcePool(pool_name="default", agent_reconnect_wait_s=reconnect_wait_s),
        ),
    )


PATIENT = settings(60.0)
"""All agents come back to the next master in time, however busy the machine is."""
SETTINGS = settings(0.5)


@pytest.fixture(scope="module")
def passwords() -> Iterator[Passwords]:
    made = Passwords(memory_kib=8, time_cost=1)
    yield made
    made.close()


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listening() as value:
        yield value


class Agents:
    """Simulated agents that can be switched off one by one."""

    def __init__(self, port: int) -> None:
        self.fleet = Fleet(settings_for(port), AGENTS, SLOTS)
        self._tasks = [asyncio.create_task(agent.run()) for agent in self.fleet.agents]

    async def stop(self, number: int) -> None:
        """Let one vanish, with what it runs."""
        self._tasks[number].cancel()
        await asyncio.gather(self._tasks[number], return_exceptions=True)

    async def stop_all(self) -> None:
        """End the links."""
        for number in range(AGENTS):
            await self.stop(number)


@pytest.fixture
async def agents(listener: Listener) -> AsyncIterator[Agents]:
    made = Agents(listener.port)
    yield made
    await made.stop_all()


def only(app: App) -> Allocation:
    """The one allocation that there is."""
    [found] = app.live.values()
    return found


def runs_whole(app: App) -> bool:
    states = [c.state for a in app.live.values() for c in a.containers]
    return states == ["RUNNING"] * AGENTS


async def state_of(client: Client, trial_id: int) -> str:
    answer = await client("GET", f"/api/v1/trials/{trial_id}")
    return str(answer.json()["trial"]["state"])


async def until_state(client: Client, trial_id: int, wanted: str) -> None:
    seen = ""

    async def watch() -> None:
        nonlocal seen
        while (seen := await state_of(client, trial_id)) != wanted:  # noqa: ASYNC110 - a row
            await asyncio.sleep(0.01)

    try:
        await asyncio.wait_for(watch(), 60)
    except TimeoutError:
        pytest.fail(f"trial {trial_id} is {seen}, not {wanted}")


async def all_rendezvous(app: App) -> list[Any]:
    """What every container is told of the others."""
    allocation = only(app)
    return await asyncio.gather(
        *(
            app.services[Allocations].rendezvous(ADMIN, allocation.id, c.id)
            for c in allocation.containers
        )
    )


async def test_a_gang_on_64_agents_runs_survives_a_new_master_and_completes(
    database: Address, pool: Database, passwords: Passwords, listener: Listener, agents: Agents
) -> None:
    async with master(database, passwords, listener, PATIENT) as (app, client):
        await until(lambda: agents.fleet.counts()["connected"] == AGENTS)
        trial_id = await submit(client, AGENTS * SLOTS)
        await until(lambda: runs_whole(app), what="the gang runs")
        met = await all_rendezvous(app)
        assert [m.rank for m in met] == list(range(AGENTS))
        assert {(len(m.addresses), m.slots) for m in met} == {(AGENTS, (SLOTS,) * AGENTS)}
        before = only(app)

    stored = "SELECT length(state) FROM aggregates WHERE kind = 'allocation'"
    assert await pool.fetchval(stored) < STATE_LIMIT_BYTES / 4
    assert await pool.fetchval("SELECT count(*) FROM aggregate_parts") == AGENTS > MAX_IN_STATE

    async with master(database, passwords, listener, PATIENT) as (app, client):
        await until(lambda: len(app.admission.agents()) == AGENTS)
        await until(
            lambda: all(a.is_connected for a in app.admission.agents()), what="all are back"
        )
        assert only(app) == before
        assert len(await all_rendezvous(app)) == AGENTS
        agents.fleet.end(AGENTS)
        await until_state(client, trial_id, "STATE_COMPLETED")
        counts = agents.fleet.counts()
        assert (counts["started"], counts["killed"], counts["running"]) == (AGENTS, 0, 0)
        await until(lambda: not any(a.reports() for a in agents.fleet.agents), what="tidy agents")


async def test_one_agent_that_is_lost_ends_the_gang_and_the_next_run_takes_what_is_left(
    database: Address, pool: Database, passwords: Passwords, listener: Listener, agents: Agents
) -> None:
    async with master(database, passwords, listener, SETTINGS) as (app, client):
        await until(lambda: agents.fleet.counts()["connected"] == AGENTS)
        size = AGENTS - 4
        trial_id = await submit(client, size * SLOTS)
        await until(lambda: agents.fleet.counts()["running"] == size, what="the gang runs")
        first = only(app)
        lost = next(n for n, a in enumerate(agents.fleet.agents) if a.running())
        await agents.stop(lost)
        await until(lambda: app.live.find(first.id) is None, what="the gang's end")
        await until(
            lambda: [a for a in app.live.values() if len(a.containers) == size],
            what="the next run",
        )
        second = only(app)
        assert second.id == f"{first.id[:-1]}2"
        gone = agents.fleet.agents[lost].id
        assert gone in {c.agent_id for c in first.containers}
        assert gone not in {c.agent_id for c in second.containers}
        reason = await pool.fetchval("SELECT exit_error FROM allocations WHERE id = $1", first.id)
        assert f"agent {gone} was lost" in reason
        await until(lambda: {c.state for c in only(app).containers} == {"RUNNING"})
        assert agents.fleet.counts()["killed"] == size - 1
        agents.fleet.end(len(agents.fleet.agents))
        await until_state(client, trial_id, "STATE_COMPLETED")


async def test_a_gang_that_is_killed_after_one_rank_failed_ends_in_error(
    database: Address, pool: Database, passwords: Passwords, listener: Listener, agents: Agents
) -> None:
    async with master(database, passwords, listener, SETTINGS) as (app, client):
        await until(lambda: agents.fleet.counts()["connected"] == AGENTS)
        trial_id = await submit(client, AGENTS * SLOTS)
        await until(lambda: runs_whole(app), what="the gang runs")
        survivor, failing = agents.fleet.agents[:2]
        survivor.ignores_signals = True
        [failed] = failing.running()
        failing.end(failed, 3)
        await until(lambda: agents.fleet.counts()["running"] == 1, what="the others are ended")
        await client("POST", f"/api/v1/trials/{trial_id}/kill")
        assert await state_of(client, trial_id) == "STATE_STOPPING_KILLED"
        [left] = survivor.running()
        survivor.end(left, 137)
        await until_state(client, trial_id, "STATE_ERROR")
        assert await pool.fetchval("SELECT max(status_code) FROM allocations") == 3


async def test_a_gang_is_killed_whole_by_a_master_that_did_not_start_it(
    database: Address, pool: Database, passwords: Passwords, listener: Listener, agents: Agents
) -> None:
    async with master(database, passwords, listener, SETTINGS) as (app, client):
        await until(lambda: agents.fleet.counts()["connected"] == AGENTS)
        trial_id = await submit(client, AGENTS * SLOTS)
        await until(lambda: [a for a in app.live.values() if a.containers], what="its slots")

    async with master(database, passwords, listener, SETTINGS) as (app, client):
        await client("POST", f"/api/v1/trials/{trial_id}/kill")
        await until_state(client, trial_id, "STATE_CANCELED")
        await until(lambda: not any(a.reports() for a in agents.fleet.agents), what="tidy agents")
        assert agents.fleet.counts()["running"] == 0


async def test_a_gang_is_killed_whole_whose_agents_are_away_for_good_before_they_heard_of_it(
    database: Address, pool: Database, passwords: Passwords, listener: Listener, agents: Agents
) -> None:
    async with master(database, passwords, listener, SETTINGS) as (app, client):
        await until(lambda: agents.fleet.counts()["connected"] == AGENTS)
        trial_id = await submit(client, AGENTS * SLOTS)
        await until(lambda: [a for a in app.live.values() if a.containers], what="its slots")
        for number in range(0, AGENTS, 2):
            await agents.stop(number)
        await client("POST", f"/api/v1/trials/{trial_id}/kill")
        await until_state(client, trial_id, "STATE_CANCELED")
        assert not list(app.live.values())
