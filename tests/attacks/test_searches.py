"""Finding 13: searches in logs take all connections of the database."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.samples import World

from determined_master.services.access.users import Users
from determined_master.services.logs import searches

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
SLOW = "a(?=.*z)"
"""Looks at the rest of the line from each of its characters."""
LONG = "a" * 60_000 + "\n"


async def task_with(world: World, lines: int, log: str) -> str:
    """A task with so many equal lines."""
    names = await scene.submitted(world)
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute(
            "INSERT INTO task_logs (task_id, logged_at, level, log)"
            " SELECT $1, now(), 3, $2 FROM generate_series(1, $3)",
            names["task_id"],
            log,
            lines,
        )
    return names["task_id"]


def lines_of(answer: Answer) -> list[Any]:
    return [json.loads(line)["result"] for line in answer.body.splitlines()]


async def search(client: Client, task_id: str, text: str, **more: Any) -> Answer:
    query = urlencode({"searchText": text, "enableRegex": "true", **more})
    return await client("GET", f"/api/v1/tasks/{task_id}/logs?{query}")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a*)*\1", "back references"),
        (r"(.*)(.*)(.*)\3\2x", "back references"),
        (r"\\\1", "back references"),
        (r"***:\(a*\)\1", "back references"),
        ("***:a", "must not begin"),
        ("(?b)a", "must not begin"),
        pytest.param("a" * 1001, "1001 characters", id="long"),
        ("(", "cannot be used"),
        ("(a{1,255}){1,255}", "cannot be used"),
    ],
)
async def test_a_pattern_that_has_no_bound_is_refused(
    world: World, pattern: str, why: str
) -> None:
    task_id = await task_with(world, 1, "aaa\n")
    answer = await search(world.clients["user"], task_id, pattern)
    assert why in answer.body.decode()


async def test_an_escaped_backslash_is_no_back_reference(world: World) -> None:
    task_id = await task_with(world, 1, "path\\1\n")
    answer = await search(world.clients["user"], task_id, r"path\\1")
    assert len(lines_of(answer)) == 1


async def test_a_search_continues_in_the_next_slice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "SLICE_LINES", 7)
    task_id = await task_with(world, 100, "hay\n")
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute(
            "UPDATE task_logs SET log = 'needle ' || id WHERE task_id = $1 AND id % 9 = 0", task_id
        )
        query = "SELECT array_agg(id ORDER BY id) FROM task_logs WHERE task_id = $1 AND id % 9 = 0"
        wanted = await conn.fetchval(query, task_id)
    for regex, text in (("true", "NEEDLE [0-9]+"), ("false", "Needle")):
        for order, expected in (("ORDER_BY_ASC", wanted), ("ORDER_BY_DESC", wanted[::-1])):
            for limit in (0, 1, 3, 100):
                answer = await search(
                    world.clients["user"], task_id, text, enableRegex=regex, orderBy=order,
                    limit=limit,
                )  # fmt: skip
                found = [int(line["id"]) for line in lines_of(answer)]
                assert found == (expected[:limit] if limit else expected)


async def test_a_search_that_takes_too_long_ends_with_the_remedy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "LEAST_LINES", 20_000)
    task_id = await task_with(world, 20, LONG)
    async with asyncio.timeout(60):
        answer = await search(world.clients["user"], task_id, SLOW)
    assert "simpler pattern" in answer.body.decode()


async def test_slow_searches_of_one_user_delay_neither_requests_nor_other_users(
    world: World,
) -> None:
    task_id = await task_with(world, 200, LONG)
    admin, user = world.clients["admin"], world.clients["user"]
    attacks = [asyncio.create_task(search(user, task_id, SLOW)) for _ in range(24)]
    try:
        async with asyncio.timeout(30):
            for _ in range(20):
                assert (await admin("GET", "/api/v1/workspaces")).status == 200
            assert (await search(admin, task_id, "needle", enableRegex="false")).status == 200
        assert not all(attack.done() for attack in attacks)
    finally:
        for attack in attacks:
            attack.cancel()
        await asyncio.gather(*attacks, return_exceptions=True)
