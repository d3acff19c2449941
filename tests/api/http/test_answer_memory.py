"""The memory of answers: one user's are bounded, those of others have their own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from tests.api.client import Client
from tests.store.rows import add_experiment

from determined_master.domain.errors import ResourceExhausted
from determined_master.ports import answer_memory
from determined_master.ports.answer_memory import MAX_BYTES, AnswerMemory, hold
from determined_master.store.db import Database


def test_a_user_has_so_much_for_all_answers_and_gets_it_back() -> None:
    memory = AnswerMemory()
    with ExitStack() as first:
        first.enter_context(memory.of(1))
        hold(MAX_BYTES)
        with memory.of(1), pytest.raises(ResourceExhausted, match="ask for fewer items with lim"):
            hold(1)
        with memory.of(2):
            hold(MAX_BYTES)
        hold(0)
    with memory.of(1):
        hold(MAX_BYTES)


def test_an_answer_to_no_user_has_no_bound() -> None:
    hold(MAX_BYTES + 1)


@pytest.mark.slow
async def test_a_slow_reader_takes_memory_from_the_own_answers_alone(
    admin: Client, user: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len((await admin("GET", "/api/v1/workspaces")).body)
    monkeypatch.setattr(answer_memory, "MAX_BYTES", 2 * size + 100)
    read = asyncio.Event()

    async def slowly(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        async def wait(message: Any) -> None:
            begun.set()
            await read.wait()
            await send(message)

        await app(scope, receive, wait)

    app, readers = admin.app, []
    for _ in range(2):
        begun = asyncio.Event()
        slow = Client(slowly, admin.token)
        readers.append(asyncio.create_task(slow("GET", "/api/v1/workspaces")))
        await begun.wait()
    refused = await admin("GET", "/api/v1/workspaces")
    assert refused.status == 429
    assert "your answers that are not sent yet would take" in refused.text
    assert (await user("GET", "/api/v1/workspaces")).status == 200
    read.set()
    assert [answer.status for answer in await asyncio.gather(*readers)] == [200, 200]
    assert (await admin("GET", "/api/v1/workspaces")).status == 200


@pytest.mark.slow
async def test_a_list_of_experiments_ends_where_its_memory_does(
    admin: Client, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(60):
        await add_experiment(pool, 1)
    whole = await admin("GET", "/api/v1/experiments?limit=-1")
    assert whole.status == 200
    monkeypatch.setattr(answer_memory, "MAX_BYTES", len(whole.body) // 2)
    refused = await admin("GET", "/api/v1/experiments?limit=-1")
    assert (refused.status, "ask for fewer items with limit" in refused.text) == (429, True)
    assert (await admin("GET", "/api/v1/experiments?limit=5")).status == 200
