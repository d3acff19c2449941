"""Summing days up, and writing down which agents were there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.api.master import ADMIN
from tests.covers import covers
from tests.services.cluster.test_pools import Here, agent
from tests.store.rows import STARTED, add_allocation, add_experiment, add_project

from determined_master.domain.machines.scaling import Machine, MachineState
from determined_master.domain.usage import CostKey, Window
from determined_master.ports.agents import AgentSnapshot
from determined_master.provision.records import MachineRecords, forget_other_pools
from determined_master.services.cluster.agent_stays import AgentStays
from determined_master.services.cluster.usage import Usage
from determined_master.store.cluster.costs import CostShare
from determined_master.store.cluster.usage import upsert_day
from determined_master.store.db import Database
from determined_master.store.queue.job_queue import list_waits

E = "scheduling-and-provisioning"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


async def sums(pool: Database) -> dict[tuple[str, str, str], float]:
    rows = await pool.fetch("SELECT * FROM usage_days")
    return {(str(r["day"])[8:], r["type"], r["key"]): r["seconds"] for r in rows}


async def used(pool: Database, began: datetime, ended: datetime | None, /, **more: Any) -> int:
    number = await add_experiment(pool, await add_project(pool, more.pop("key", "PROJ")))
    values = {"requested_at": began - MINUTE, "started_at": began, "ended_at": ended, **more}
    await add_allocation(pool, number, **values)
    return number


@covers(f"{E} e.5.fill")
async def test_each_whole_day_after_the_last_is_summed_up_once(pool: Database) -> None:
    usage = Usage(pool)
    assert await usage.sum_up(STARTED + DAY) == 0
    await used(pool, STARTED + 23 * HOUR, None)
    now = STARTED + 2 * DAY + MINUTE
    assert await usage.sum_up(now) == 2
    first = await sums(pool)
    assert first["01", "total", "total"] == 3600
    assert first["02", "total", "total"] == 86400
    assert await usage.sum_up(now) == 0
    assert await sums(pool) == first
    assert await usage.sum_up(now + DAY) == 1
    assert (await sums(pool))["03", "total", "total"] == 86400


@covers(f"{E} e.5.queued")
async def test_waiting_times_are_averaged_by_pool_and_over_all(pool: Database) -> None:
    began = STARTED + HOUR
    for minutes, name in ((1, "a"), (3, "a"), (8, "total")):
        wait = {"requested_at": began - minutes * MINUTE, "pool": name, "key": f"K{minutes}"}
        await used(pool, began, began + MINUTE, **wait)
    await Usage(pool).sum_up(STARTED + DAY)
    found = await sums(pool)
    assert found["01", "queued", "a"] == 120
    assert found["01", "queued", "total"] == 480
    assert found["01", "queued_total", "total"] == 240


async def test_statistics_of_the_queue_read_the_sums_of_days_that_have_them(
    pool: Database,
) -> None:
    for days, minutes in ((0, 2), (1, 4), (2, 6)):
        began = STARTED + days * DAY + HOUR
        wait = {"requested_at": began - minutes * MINUTE, "key": f"K{days}"}
        await used(pool, began, began + HOUR, **wait)
    await Usage(pool).sum_up(STARTED + 2 * DAY)
    await pool.execute("UPDATE usage_days SET seconds = 7 WHERE type = 'queued'")
    async with pool.acquire() as conn:
        found = await list_waits(conn, ["default", "gone"], STARTED + DAY)
    assert found == [
        ("default", STARTED.date() + DAY, 7),
        ("default", STARTED.date() + 2 * DAY, 360),
    ]


@covers(f"{E} e.5.kept e.5.names")
async def test_aggregated_days_stay_except_for_waiting_times(pool: Database) -> None:
    number = await used(pool, STARTED, STARTED + HOUR)
    await pool.execute("UPDATE experiments SET labels = '{old}' WHERE id = $1", number)
    await Usage(pool).sum_up(STARTED + DAY)
    before = await sums(pool)
    await used(pool, STARTED, STARTED + HOUR, requested_at=STARTED - HOUR, key="MORE")
    await pool.execute("UPDATE experiments SET labels = '{new}' WHERE id = $1", number)
    await pool.execute("UPDATE users SET username = username || ' the second' WHERE id > 2")
    async with pool.acquire() as conn, conn.transaction():
        await upsert_day(conn, STARTED.date(), STARTED, STARTED + DAY)
    after = await sums(pool)
    assert {k: after[k] for k in before if k[1] not in ("queued", "queued_total")} == {
        k: v for k, v in before.items() if k[1] not in ("queued", "queued_total")
    }
    assert before["01", "experiment_label", "old"] == 3600
    assert (before["01", "queued", "default"], after["01", "queued", "default"]) == (60, 1830)


async def stays(pool: Database) -> list[tuple[str, int, float, float | None]]:
    """Agent, slots, seconds from `STARTED` to its begin and to its end."""
    query = """
        SELECT agent_id, slots, extract(epoch FROM started_at - $1)::float8,
               extract(epoch FROM ended_at - $1)::float8
          FROM agent_stays ORDER BY id
    """
    return [tuple(row) for row in await pool.fetch(query, STARTED)]


@covers(f"{E} e.5.agents d.1.usage")
async def test_agents_are_there_from_their_coming_until_they_were_seen_last(
    pool: Database,
) -> None:
    def here(*agents: tuple[str, int]) -> AgentStays:
        found: Sequence[AgentSnapshot] = [
            agent(name, slots, registered_at=STARTED) for name, slots in agents
        ]
        backend: Any = Here(found)
        return AgentStays(pool, backend)

    await here(("a", 4), ("b", 2)).note(STARTED + timedelta(seconds=30))
    await here(("a", 4), ("b", 2)).note(STARTED + timedelta(seconds=60))
    assert await stays(pool) == [("a", 4, 0, None), ("b", 2, 0, None)]
    await here(("a", 8)).note(STARTED + timedelta(seconds=90))
    assert await stays(pool) == [("a", 4, 0, 60), ("b", 2, 0, 60), ("a", 8, 60, None)]
    found: list[Any] = []
    window = Window(STARTED + timedelta(seconds=30), STARTED + timedelta(seconds=120))
    await Usage(pool).spans(ADMIN, window, found.extend)
    assert [(s.kind, s.username, s.slots, s.seconds) for s in found] == [
        ("agent", "a", 4, 30),
        ("agent", "b", 2, 30),
        ("agent", "a", 8, 60),
    ]


@covers(f"{E} e.5.instances")
async def test_machines_are_there_from_their_launch_until_they_were_seen_last(
    pool: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def machine(id: str, state: MachineState = "running") -> Machine:
        return Machine(id=id, agent_name=id, state=state, launched_at=STARTED)

    records = MachineRecords(pool, "default", 4)
    first, second = STARTED + timedelta(seconds=30), STARTED + timedelta(seconds=60)
    await records.note([machine("a"), machine("b"), machine("r", "pending")], first)
    await records.note([machine("a"), machine("b"), machine("c", "stopped")], second)
    await records.note([machine("a")], second + timedelta(seconds=5))
    await MachineRecords(pool, "old", 2).note([machine("z")], second)
    await forget_other_pools(pool, ["default"])
    told = [(r.pool, r.machines) for r in caplog.records if hasattr(r, "machines")]
    assert told == [("old", ["z"])], "they run on, and cost"
    found: list[Any] = []
    window = Window(STARTED + timedelta(seconds=30), STARTED + timedelta(seconds=120))
    await Usage(pool).spans(ADMIN, window, found.extend)
    assert [(s.kind, s.username, s.slots, s.seconds) for s in found] == [
        ("instance", "a", 4, 90),
        ("instance", "b", 4, 30),
        ("instance", "z", 2, 30),
    ]


async def priced(
    pool: Database, name: str, prices: Sequence[float | None], ended_at: datetime
) -> None:
    """Machines of two slots that were there from `STARTED` until an instant."""
    machines = [
        Machine(
            id=f"{name}-{number}",
            agent_name=f"{name}-{number}",
            state="running",
            launched_at=STARTED,
            instance_type="g5.xlarge",
            price_per_hour=price,
        )
        for number, price in enumerate(prices)
    ]
    records = MachineRecords(pool, name, 2)
    await records.note(machines, ended_at)
    await records.note([], ended_at)


async def shares(pool: Database, by: CostKey) -> dict[str, CostShare]:
    found = await Usage(pool).costs(ADMIN, Window(STARTED, STARTED + DAY), by)
    assert [s.cost for s in found.shares if s.cost is not None] == sorted(
        (s.cost for s in found.shares if s.cost is not None), reverse=True
    )
    return {share.key: share for share in found.shares}


async def test_an_allocation_pays_its_slots_by_the_mean_price_of_its_pools_machines(
    pool: Database,
) -> None:
    await priced(pool, "gpus", [1.0, 3.0, None], STARTED + 10 * HOUR)
    began = STARTED + HOUR
    first = await used(
        pool, began, began + 2 * HOUR, pool="gpus", slots=3, workspace_name="vision", key="A"
    )
    second = await used(pool, began, began + HOUR, pool="static", workspace_name="text", key="B")
    command = await add_allocation(
        pool, user_id=1, started_at=began, ended_at=began + HOUR, pool="gpus", slots=1,
        workspace_name="vision",
    )  # fmt: skip
    jobs = await shares(pool, "job")
    assert jobs[f"experiment {first}"].cost == pytest.approx(6.0)
    assert jobs[f"experiment {first}"].slot_hours == pytest.approx(6.0)
    assert jobs[f"experiment {second}"].cost is None
    assert jobs[f"experiment {second}"].unpriced_slot_hours == pytest.approx(1.0)
    assert jobs[f"command {command.removesuffix('.1')}"].cost == pytest.approx(1.0)
    places = await shares(pool, "workspace")
    assert places["vision"].cost == pytest.approx(7.0)
    assert (await shares(pool, "pool")).keys() == {"gpus", "static"}
    name = await pool.fetchval("SELECT username FROM users WHERE id = 1")
    assert (await shares(pool, "user"))[name].cost == pytest.approx(7.0), "of both tasks"
    found = await Usage(pool).costs(ADMIN, Window(STARTED, STARTED + DAY), "user")
    assert found.machines == pytest.approx(40.0)


async def test_costs_outside_of_the_window_do_not_count(pool: Database) -> None:
    await priced(pool, "gpus", [2.0], STARTED + 10 * HOUR)
    await used(pool, STARTED - HOUR, STARTED + HOUR, pool="gpus", slots=2)
    found = await Usage(pool).costs(ADMIN, Window(STARTED, STARTED + 30 * MINUTE), "pool")
    assert [(s.key, s.cost) for s in found.shares] == [("gpus", pytest.approx(1.0))]
    assert found.machines == pytest.approx(1.0)


async def test_the_first_known_price_of_a_machine_stays(pool: Database) -> None:
    def machine(price: float | None) -> Machine:
        return Machine(
            id="a", agent_name="a", state="running", launched_at=STARTED, price_per_hour=price
        )

    records = MachineRecords(pool, "gpus", 2)
    for price in (None, 1.0, 2.0, None):
        await records.note([machine(price)], STARTED)
    [stay] = await records.stays()
    assert stay.machine.price_per_hour == 1.0
