"""An agent over time, asked for through the API."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.api.client import Client
from tests.api.hidden import ok
from tests.domain.builders import agent, holding
from tests.store.rows import add_allocation

from determined_master import clock
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import PoolView
from determined_master.pools.loop import PoolDecision
from determined_master.pools.recorder import Recorder
from determined_master.services.cluster import agent_history
from determined_master.store.db import Database

pytestmark = pytest.mark.slow
PATH = "/api/ui/v1/agents/left/history"


async def record(pool: Database, allocation_id: str) -> None:
    """Half an hour ago the allocation held 3 of 4 slots for a minute; then the agent left."""
    begin = clock.now() - timedelta(minutes=30)
    recorder = Recorder(pool)
    runs = (holding(allocation_id, ("left", 3)),)
    for after_s, agents, running in (
        (0, (agent("left", 4),), ()),
        (60, (agent("left", 4, free=1),), runs),
        (120, (agent("left", 4),), ()),
        (180, (), ()),
    ):
        now = begin + timedelta(seconds=after_s)
        view = PoolView(pool="default", agents=agents, pending=(), running=running, now=now)
        recorder.note(PoolDecision(view, plan(view)))
    await recorder.flush()
    query = """
        INSERT INTO agent_stays (agent_id, pool, slots, started_at, seen_at, ended_at)
        VALUES ('left', 'default', 4, $1, $2, $2)
    """
    await pool.execute(query, begin, begin + timedelta(seconds=180))


async def test_it_shows_what_held_the_slots_of_an_agent(user: Client, pool: Database) -> None:
    allocation_id = await add_allocation(pool, user_id=1)
    await record(pool, allocation_id)
    found = await ok(user, "GET", f"{PATH}?hours=1")
    assert [(m["state"], m["slots"], m["used"]) for m in found["moments"]] == [
        ("accepting", 4, 0),
        ("accepting", 4, 3),
        ("accepting", 4, 0),
        ("absent", 0, 0),
    ]
    (held,) = found["allocations"]
    assert (held["allocationId"], held["slots"]) == (allocation_id, 3)
    assert held["until"] > held["since"]
    (stay,) = found["stays"]
    assert (stay["resourcePool"], stay["slots"]) == ("default", 4)
    assert found["recordedSince"] >= found["since"]


async def test_a_long_record_is_cut_and_not_refused(
    user: Client, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(pool, await add_allocation(pool, user_id=1))
    monkeypatch.setattr(agent_history, "MAX_MOMENTS", 2)
    assert len((await ok(user, "GET", PATH))["moments"]) == 2
    monkeypatch.setattr(agent_history, "READ_S", -1.0)
    assert (await ok(user, "GET", PATH))["moments"] == []


async def test_there_is_none_of_an_agent_that_never_was(user: Client) -> None:
    assert (await user("GET", "/api/ui/v1/agents/nobody/history")).status == 404


@pytest.mark.parametrize("hours", [-1, 169])
async def test_hours_out_of_bounds_are_refused(user: Client, hours: int) -> None:
    answer = await user("GET", f"{PATH}?hours={hours}")
    assert (answer.status, f"hours is {hours}" in answer.text) == (400, True)
