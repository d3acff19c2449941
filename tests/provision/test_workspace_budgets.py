"""A workspace whose budget is used up gets no more machines, and its users see why."""

from __future__ import annotations

from typing import Any

import pytest
from tests.provision.machine_world import World
from tests.store.rows import add_experiment, add_project

from determined_master import entropy
from determined_master.domain.access.rules import Caller
from determined_master.domain.config.policies.rules import Workload
from determined_master.provision.loops import LoopDependencies, MachineLoops
from determined_master.services.queue.job_why import JobWhy
from determined_master.settings.pools import ResourcePool
from determined_master.settings.providers.provider import Provider
from determined_master.store.configs.policies import BudgetRow, list_budgets, upsert_policies
from determined_master.store.db import Database

ADMIN = Caller(user_id=1, username="admin", is_admin=True)


class Space:
    """A workspace with experiments of one trial."""

    def __init__(self, db: Database, world: World) -> None:
        self._db, self._world = db, world
        self.id = 0
        self.project = 0

    async def make(self) -> Space:
        self.project = await add_project(self._db, f"P{entropy.new_uuid().hex[:4]}".upper())
        query = "SELECT workspace_id FROM projects WHERE id = $1"
        self.id = int(await self._db.fetchval(query, self.project))
        return self

    async def submit(self, slots: int) -> str:
        """An experiment's request; its allocation's id."""
        job_id = entropy.new_uuid()
        await add_experiment(self._db, self.project, job_id=job_id)
        return self._world.submit(slots=slots, job_id=str(job_id))

    async def limit(self, dollars: float, workload: Workload = "EXPERIMENT") -> None:
        await set_budget(self._db, self.id, dollars, workload)


async def set_budget(
    db: Database, workspace_id: int | None, dollars: float, workload: Workload = "EXPERIMENT"
) -> None:
    """Set it as a config policy."""
    policies: dict[str, Any] = {"constraints": {"resources": {"max_cost_per_hour": dollars}}}
    async with db.acquire() as conn:
        user = await conn.fetchval("SELECT min(id) FROM users")
        await upsert_policies(conn, workspace_id, workload, policies, user, is_admins=True)


@pytest.fixture
def world(pool: Database, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(pool, monkeypatch)
    made.slot_price = 0.5
    return made


@pytest.fixture
async def space(pool: Database, world: World) -> Space:
    return await Space(pool, world).make()


async def test_a_workspace_gets_machines_for_its_budget_and_no_more(
    world: World, space: Space
) -> None:
    await space.limit(2.0)
    first = await space.submit(slots=2)
    second = await space.submit(slots=4)
    await world.tick()
    assert len(world.machines) == 1
    world.join()
    await world.tick()
    await world.tick()
    state = world.live.find(first)
    assert state is not None
    assert state.state == "ASSIGNED"
    assert len(world.machines) == 1
    assert world.loop.held_back.keys() == {second}
    world.end(first)
    await world.tick()
    await world.tick()
    assert len(world.machines) == 2, "the end of other work leaves room in the budget"
    assert world.loop.held_back == {}


async def test_the_reason_is_shown_to_those_who_wait(
    pool: Database, world: World, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    await space.limit(0.75)
    task = await space.submit(slots=2)
    await world.tick()
    decision = world.pool.decision
    provider = Provider(type="aws", price_per_hour=1.0)
    parts: Any = None
    loops = MachineLoops(
        [ResourcePool(pool_name="default", provider=provider)],
        {"default": world.provider()},
        LoopDependencies(parts, pool, world.live, lambda: (), FakePools()),
    )
    monkeypatch.setitem(loops._loops, "default", world.loop)
    text = (await JobWhy(pool, world.live, lambda _: decision, loops.status).why(ADMIN, task)).text
    assert "no machine is started for it: max_cost_per_hour of workspace 'P" in text
    assert "allows 0.75 USD for experiments of a workspace" in text
    assert "it needs 1 USD" in text
    assert world.machines == []


class FakePools:
    """Schedulers that are never asked."""

    def decision(self, pool: str) -> None:
        """None yet."""

    async def cordon(self, pool: str, names: frozenset[str]) -> None:
        """Nothing starts anyway."""


async def test_other_workspaces_are_not_held_back(
    pool: Database, world: World, space: Space
) -> None:
    await space.limit(0.5)
    other = await Space(pool, world).make()
    await space.submit(slots=2)
    await other.submit(slots=2)
    await world.tick()
    assert len(world.machines) == 1


async def test_the_cluster_can_give_each_workspace_a_budget(
    pool: Database, world: World, space: Space
) -> None:
    await space.limit(9.0)
    await set_budget(pool, None, 1.0)
    other = await Space(pool, world).make()
    for one in (space, other):
        for _ in range(2):
            await one.submit(slots=2)
    await world.tick()
    assert len(world.machines) == 2
    assert all("of the cluster allows 1 USD" in text for text in world.loop.held_back.values())


async def test_pools_without_a_known_price_are_free(world: World, space: Space) -> None:
    world.slot_price = None
    await space.limit(0.01)
    await space.submit(slots=2)
    await world.tick()
    assert len(world.machines) == 1


async def test_work_runs_in_slots_that_are_free_whatever_the_budget(
    world: World, space: Space
) -> None:
    first = await space.submit(slots=2)
    await world.tick()
    world.join()
    await world.tick()
    world.end(first)
    await space.limit(0.01)
    second = await space.submit(slots=2)
    await world.tick()
    state = world.live.find(second)
    assert state is not None
    assert state.state == "ASSIGNED"


async def test_budgets_are_listed_by_workspace_and_kind_of_work(
    pool: Database, space: Space
) -> None:
    await space.limit(2)
    await space.limit(0.5, "NTSC")
    await set_budget(pool, None, 9.5)
    async with pool.acquire() as conn:
        found = await list_budgets(conn)
        name = await conn.fetchval("SELECT name FROM workspaces WHERE id = $1", space.id)
    assert found == [
        BudgetRow(None, None, "EXPERIMENT", 9.5),
        BudgetRow(space.id, name, "EXPERIMENT", 2.0),
        BudgetRow(space.id, name, "NTSC", 0.5),
    ]
