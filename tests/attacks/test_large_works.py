"""Works of many events that pause for others: nothing of them is lost when the master ends."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any, NamedTuple

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import ok
from tests.api.master import PASSWORD, running_services
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.engine.applying.pauses import Pauses
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, Database, open_database

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PAUSE_S = 0.02
ENDS = 2
TRIALS = 40
SEARCH = f"""
entrypoint: x
searcher: {{name: random, metric: loss, max_trials: {TRIALS}, max_concurrent_trials: 0}}
"""
EXPERIMENTS = "/api/v1/experiments"
PARENT = "entrypoint: [x]\nresources: {slots: 1}\n"
CHILDREN = 12

_JOURNAL = "SELECT count(*) FROM journal"
_OPEN_TRIALS = "SELECT count(*) FROM trials WHERE ended_at IS NULL"
_TRIALS = "SELECT count(*) FROM trials"
_DELETIONS = "SELECT count(*) FROM tasks WHERE type = 'CHECKPOINT_GC' AND ended_at IS NULL"
"""It ends with a task of an agent."""
_OPEN_ALLOCATIONS = "SELECT count(*) FROM allocations WHERE ended_at IS NULL"
_OPEN_TASKS = "SELECT count(*) FROM tasks WHERE ended_at IS NULL"
_REPEATED = """
    SELECT count(*) FROM (SELECT 1 FROM journal GROUP BY kind, id, cause HAVING count(*) > 1) twice
"""
_EFFECTS = "SELECT count(*) FROM outbox"

Act = Callable[[Client, Database], Awaitable[None]]


class Work(NamedTuple):
    """A large work, what comes before it, and what holds once it is done."""

    before: tuple[tuple[Act, dict[str, int]], ...]
    act: Act
    end: dict[str, int]
    """Numbers by their queries."""
    least_events: int = CHILDREN
    """Events that it has for sure; a master ends after some of them."""


async def submit(client: Client, pool: Database) -> None:
    await ok(client, "POST", EXPERIMENTS, {"config": SEARCH, "activate": True})


async def submit_many(client: Client, pool: Database) -> None:
    config = "entrypoint: x\nsearcher: {name: single, metric: loss}\n"
    for _ in range(TRIALS):
        await ok(client, "POST", EXPERIMENTS, {"config": config, "activate": True})


async def submit_tasks(client: Client, pool: Database) -> None:
    parent = await ok(client, "POST", "/api/v1/generic-tasks", {"config": PARENT})
    for _ in range(CHILDREN):
        child = {"config": PARENT, "parentId": parent["taskId"]}
        await ok(client, "POST", "/api/v1/generic-tasks", child)


async def kill_tasks(client: Client, pool: Database) -> None:
    parent = await pool.fetchval("SELECT task_id FROM generic_tasks WHERE parent_id IS NULL")
    await ok(client, "POST", f"/api/v1/tasks/{parent}/kill", {"killFromRoot": True})


def asked(verb: str) -> Act:
    async def act(client: Client, pool: Database) -> None:
        await ok(client, "POST", f"{EXPERIMENTS}/1/{verb}", {})

    return act


def asked_for_all(verb: str) -> Act:
    async def act(client: Client, pool: Database) -> None:
        body = {"experimentIds": list(range(1, TRIALS + 1))}
        await ok(client, "POST", f"/api/v1/projects/1/experiments/{verb}", body)

    return act


async def delete(client: Client, pool: Database) -> None:
    await ok(client, "DELETE", f"{EXPERIMENTS}/1")


CREATED = {_TRIALS: TRIALS, _OPEN_ALLOCATIONS: TRIALS}
SUBMITTED = (submit, CREATED)
PAUSED = {_OPEN_ALLOCATIONS: 0, _OPEN_TRIALS: TRIALS}
KILLED = {_OPEN_ALLOCATIONS: 0, _OPEN_TRIALS: 0, _TRIALS: TRIALS, _EFFECTS: 0}
MANY = (submit_many, CREATED)
WORKS = {
    "create": Work((), submit, CREATED),
    "kill": Work((SUBMITTED,), asked("kill"), KILLED),
    "cancel": Work((SUBMITTED,), asked("cancel"), KILLED),
    "pause": Work((SUBMITTED,), asked("pause"), PAUSED),
    "activate": Work((SUBMITTED, (asked("pause"), PAUSED)), asked("activate"), CREATED),
    "delete": Work(
        (SUBMITTED, (asked("kill"), KILLED)), delete, {_DELETIONS: 1, _OPEN_TASKS: 1}, 1
    ),
    "kill many": Work((MANY,), asked_for_all("kill"), KILLED),
    "pause many": Work((MANY,), asked_for_all("pause"), PAUSED),
    "kill tasks": Work(
        ((submit_tasks, {_OPEN_ALLOCATIONS: CHILDREN + 1}),),
        kill_tasks,
        {_OPEN_TASKS: 0, _OPEN_ALLOCATIONS: 0, _EFFECTS: 0},
    ),
}


@contextlib.asynccontextmanager
async def master(address: Address, pool: Database, passwords: Passwords) -> AsyncIterator[Client]:
    """A master on the database, with a user's client; its end is no shutdown of the engine."""
    async with running_services(address, pool, passwords) as (services, _):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
        yield Client(api, opened.token)
        api.close()


async def reaches(pool: Database, end: dict[str, int]) -> None:
    """Return once the numbers are those."""

    async def numbers() -> Any:
        return {query: await pool.fetchval(query) for query in end}

    await scene.until_true(numbers, lambda got: got == end, [])


async def moves(pool: Database, count: int) -> None:
    """Return once the journal has so many lines."""

    async def lines() -> Any:
        return await pool.fetchval(_JOURNAL)

    await scene.until_true(lines, lambda got: got >= count, [])


@pytest.mark.parametrize("name", WORKS)
async def test_a_work_that_pauses_is_done_once_though_masters_end_within_it(
    postgres: Address, passwords: Passwords, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    work, random = WORKS[name], Random(name)
    monkeypatch.setattr(Pauses, "after", lambda *_: PAUSE_S)
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
    ):
        async with master(address, pool, passwords) as client:
            for act, end in work.before:
                await act(client, pool)
                await reaches(pool, end)
            lines = await pool.fetchval(_JOURNAL)
            await work.act(client, pool)
            await moves(pool, lines + random.randint(1, work.least_events))
        for _ in range(ENDS - 1):
            async with master(address, pool, passwords):
                await moves(pool, await pool.fetchval(_JOURNAL))
        async with master(address, pool, passwords):
            await reaches(pool, work.end)
        assert await pool.fetchval(_REPEATED) == 0
