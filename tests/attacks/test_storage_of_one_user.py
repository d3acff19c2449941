"""One user's logs, metrics and files fill the database, and nobody can say whose they are."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import hidden_world
from tests.api.samples import World

from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.services.cluster.user_storage import MAX_NAMED, StoredBytes, UserStorage
from determined_master.store.cluster import user_storage as rows
from determined_master.store.db import Address, Conn

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
KIB = 1024
LINES = 400
LINE = 2 * KIB
FEW = 900 * KIB
FILES_OF = {
    "generic_tasks": "INSERT INTO generic_tasks (task_id, state, submitted, config, context)"
    " VALUES ($1, 'ACTIVE', '{}', '{}', $2)",
    "interactive_tasks": "INSERT INTO interactive_tasks (task_id, state, config, context)"
    " VALUES ($1, 'RUNNING', '{}', $2)",
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    """The user's running trial with a long log; the admin has nothing of the kind."""
    async with hidden_world(postgres, passwords) as made:
        await fill(made)
        yield made


async def fill(world: World) -> None:
    await scene.running(world)
    async with world.services[Users]._db.acquire() as conn:
        task_id = world.names["task_id"]
        for table in ("tasks", "experiments"):
            await conn.execute(f"UPDATE {table} SET user_id = 2")
        query = """
            INSERT INTO task_logs (task_id, logged_at, log)
            SELECT $1, now(), (SELECT string_agg(md5(i::text || j::text), '')
                                 FROM generate_series(1, $3 / 32) j)
              FROM generate_series(1, $2::int) i
        """
        await conn.execute(query, task_id, LINES, LINE)
        query = """
            INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
            SELECT $1, 'training', i, 1, now(), jsonb_build_object('a', md5(i::text))
              FROM generate_series(1, 1000) i
        """
        await conn.execute(query, int(world.names["trial_id"]))


def storage_of(world: World, warning_bytes: int, max_bytes: int = 0) -> UserStorage:
    return UserStorage(world.services[Users]._db, warning_bytes, max_bytes)


async def use(world: World, monkeypatch: pytest.MonkeyPatch, *bounds: Any) -> None:
    """Give the master these bounds for one test, and measure."""
    storage = storage_of(world, *bounds)
    await storage.measure()
    served = world.services[UserStorage]
    for name, value in vars(storage).items():
        monkeypatch.setattr(served, name, value)


async def pages_of(conn: Conn, table: str) -> int:
    return round((await conn.fetchrow(rows._SHAPE, table))["pages"])


async def submitted(client: Client, kind: str) -> Any:
    paths: dict[str, tuple[str, dict[str, Any]]] = {
        "experiment": ("/api/v1/experiments", {"config": scene.CONFIG, "activate": False}),
        "command": ("/api/v1/commands", {"config": {"entrypoint": ["x"]}}),
        "task": ("/api/v1/generic-tasks", {"config": "entrypoint: [x]"}),
    }
    return await client("POST", *paths[kind])


async def test_the_bytes_of_each_user_are_those_of_their_rows(world: World) -> None:
    async with world.services[Users]._db.acquire() as conn:
        sizes = await rows.measure_users(conn)
    assert LINES * LINE < sizes[2] < 2 * LINES * LINE + 1000 * KIB
    assert sizes.get(1, 0) < LINE


async def test_indexes_are_counted_as_postgresql_holds_them(world: World) -> None:
    """Short rows: their indexes take about as much as they do."""
    async with world.services[Users]._db.acquire() as conn:
        before = (await rows.measure_users(conn))[2]
        query = """
            INSERT INTO run_columns (project_id, name, location, type)
            SELECT 1, 'c' || i, 'HYPERPARAMETERS', 'NUMBER' FROM generate_series(1, 20000) i
        """
        await conn.execute(query)
        query = """
            INSERT INTO run_values (run_id, column_id, number)
            SELECT $1, id, id FROM run_columns WHERE name LIKE 'c%'
        """
        await conn.execute(query, int(world.names["trial_id"]))
        held = await conn.fetchval("SELECT pg_total_relation_size('run_values')")
        table = await conn.fetchval("SELECT pg_table_size('run_values')")
        counted = (await rows.measure_users(conn))[2] - before
        await conn.execute("DELETE FROM run_values")
        await conn.execute("DELETE FROM run_columns WHERE name LIKE 'c%'")
    assert held > 1.5 * table
    assert 0.8 * held < counted < 1.2 * held


async def test_the_room_that_deleted_rows_leave_is_nobodys(world: World) -> None:
    async with world.services[Users]._db.acquire() as conn:
        before = (await rows.measure_users(conn))[2]
        query = """
            INSERT INTO log_values (task_id, field, value)
            SELECT $1, 'agent_id', md5(i::text) FROM generate_series(1, 5000) i
        """
        await conn.execute(query, world.names["task_id"])
        query = "DELETE FROM log_values WHERE value <> md5('1') AND field = 'agent_id'"
        await conn.execute(query)
        assert await conn.fetchval("SELECT pg_total_relation_size('log_values')") > 500 * KIB
        assert abs((await rows.measure_users(conn))[2] - before) < KIB


@pytest.mark.parametrize("table", ["generic_tasks", "interactive_tasks"])
async def test_files_of_tasks_are_counted_for_the_first_user(world: World, table: str) -> None:
    async with world.services[Users]._db.acquire() as conn:
        before = await rows.measure_users(conn)
        query = """
            INSERT INTO model_definitions (digest, tgz)
            SELECT sha256($1::text::bytea),
                   (SELECT string_agg(sha256((i || $1)::bytea), '')
                      FROM generate_series(1, 8192) i)
            RETURNING digest
        """
        digest = await conn.fetchval(query, table)
        for n, user in enumerate((2, 1)):
            query = """
                INSERT INTO tasks (id, type, job_id, user_id, started_at)
                VALUES ($1, 'COMMAND', gen_random_uuid(), $2, now() + $3 * interval '1 s')
            """
            await conn.execute(query, f"{table}-{n}", user, n)
            query = FILES_OF[table]
            await conn.execute(query, f"{table}-{n}", digest)
        after = await rows.measure_users(conn)
        await conn.execute("DELETE FROM tasks WHERE id LIKE $1 || '%'", table)
    assert 256 * KIB < after[2] - before[2] < 300 * KIB
    assert after.get(1, 0) - before.get(1, 0) < 4 * KIB


async def test_a_sample_of_a_large_table_stands_for_all_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.services[Users]._db.acquire() as conn:
        whole = (await rows.measure_users(conn))[2]
        monkeypatch.setattr(rows, "SAMPLED_PAGES", await pages_of(conn, "task_logs") // 2)
        samples = [(await rows.measure_users(conn)).get(2, 0) for _ in range(20)]
    assert 0.7 * whole < sum(samples) / len(samples) < 1.3 * whole
    assert len(set(samples)) > 1, "not all of it was read"


async def test_a_large_user_is_named_to_admins_with_the_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    quiet = {"status": "up", "users": []}
    assert (await admin("GET", "/health")).json()["storage"] == quiet
    await use(world, monkeypatch, FEW // 2)
    storage = world.services[UserStorage]
    [large] = storage.large
    answer = await admin("GET", "/health")
    assert (answer.status, answer.json()["status"]) == (200, "up")
    assert answer.json()["storage"] == {
        "status": "degraded",
        "users": [{"username": "determined", "bytes": large.bytes}],
    }
    assert large.bytes > LINES * LINE
    assert "storage" not in (await user("GET", "/health")).json()
    gauge = 'det_user_stored_bytes{username="determined"}'
    metrics = "/prom/det-state-metrics"
    assert gauge in (await admin("GET", metrics)).body.decode()
    assert gauge not in (await user("GET", metrics)).body.decode()

    async def logged() -> str:
        return caplog.text

    with caplog.at_level(logging.WARNING):
        run = asyncio.create_task(storage.run())
        await scene.until_true(logged, lambda text: "fills the database" in text, [])
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run
    [line] = [r for r in caplog.records if "fills the database" in r.message]
    assert line.__dict__["username"] == "determined"
    assert "log_retention_days" in line.message


async def test_so_many_users_are_named_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = dict.fromkeys(range(1, 3), 10) | {n: n * 100 for n in range(100, 150)}

    async def measure(conn: Any) -> dict[int, int]:
        return sizes

    monkeypatch.setattr(rows, "measure_users", measure)
    storage = storage_of(world, 5)
    async with world.services[Users]._db.acquire() as conn:
        query = """
            INSERT INTO users (id, username, modified_at)
            SELECT n, 'u' || n, now() FROM generate_series(100, 149) n
        """
        await conn.execute(query)
    await storage.measure()
    named = [StoredBytes(f"u{n}", n * 100) for n in range(149, 149 - MAX_NAMED, -1)]
    assert list(storage.large) == named


@pytest.mark.parametrize("kind", ["experiment", "command", "task"])
async def test_a_user_over_the_bound_submits_nothing_and_others_do(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    await use(world, monkeypatch, 0, FEW // 2)
    refused = await submitted(user, kind)
    assert (refused.status, "delete experiments, or ask an admin" in refused.text) == (429, True)
    assert "user_storage.max_gib" in refused.text
    assert (await submitted(admin, kind)).status == 200
    assert (await user("GET", "/api/v1/me")).status == 200


async def test_without_a_bound_only_the_warning_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use(world, monkeypatch, 1)
    assert (await submitted(world.clients["user"], "experiment")).status != 429


async def test_a_user_who_deletes_something_is_measured_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    await use(world, monkeypatch, 0, FEW // 2)
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute("DELETE FROM task_logs")
        await conn.execute("DELETE FROM metrics")
    assert (await submitted(user, "experiment")).status == 429, "a minute has not passed"
    monkeypatch.setattr(world.services[UserStorage], "_measured_at_s", float("-inf"))
    measurements = 0
    measure = rows.measure_users

    async def counted(conn: Any) -> dict[int, int]:
        nonlocal measurements
        measurements += 1
        return await measure(conn)

    monkeypatch.setattr(rows, "measure_users", counted)
    answers = await asyncio.gather(*(submitted(user, "experiment") for _ in range(5)))
    assert 429 not in [answer.status for answer in answers]
    assert measurements == 1
    assert (await admin("GET", "/api/v1/me")).status == 200
