"""Viewers that take nothing for a while, and lines that are committed late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.hidden import ok
from tests.api.samples import World
from tests.api.updates.live_client import LiveSocket, live

from determined_master import clock
from determined_master.services.updates.live import connection
from determined_master.services.updates.live.hub import LiveUpdates
from determined_master.store.db import Database
from determined_master.store.logs.task_logs import copy_lines


@pytest.fixture
async def socket(world: World) -> AsyncIterator[LiveSocket]:
    """Of the admin."""
    app: Any = world.clients["admin"].app
    async with live(app, world.clients["admin"].token) as made:
        yield made


async def post_lines(world: World, task_id: str, first: int, count: int) -> None:
    logs = [{"taskId": task_id, "log": f"{n}"} for n in range(first, first + count)]
    await ok(world.clients["admin"], "POST", "/api/v1/task/logs", {"logs": logs})


def posted(frame: dict[str, Any]) -> list[str]:
    """The lines in a frame that are not the master's own."""
    logs: list[str] = [line["log"] for line in frame["data"]["lines"]]
    return [text for text in logs if not text.endswith("\n")]


async def test_a_lagging_viewer_is_reset_once_and_then_is_live(
    world: World, socket: LiveSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_FRAMES", 3)
    names = await scene.submitted(world)
    path, topic = f"/api/v1/experiments/{names['experiment_id']}", f"exp:{names['experiment_id']}"
    await socket.subscribed(topic)
    socket.reads.clear()
    [viewer] = world.services[LiveUpdates]._viewers
    count = 0
    async with asyncio.timeout(60):
        while not viewer._lagging:
            count += 1
            await ok(world.clients["admin"], "PATCH", path, {"name": f"n{count}"})
    socket.reads.set()
    frames = [await socket.frame_of(topic)]
    while frames[-1]["op"] != "reset":
        frames.append(await socket.frame_of(topic))
    assert len(frames) <= 3 + 3
    await ok(world.clients["admin"], "PATCH", path, {"name": "last"})
    while True:
        frame = await socket.frame_of(topic)
        assert (frame["op"], frame["seq"]) == ("upsert", frames[-1]["seq"] + 1)
        frames.append(frame)
        if frame["data"]["experiment"]["name"] == "last":
            break


async def test_a_viewer_that_lags_behind_a_log_gets_its_own_cursor_and_every_line(
    world: World, socket: LiveSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_BYTES", 20_000)
    names = await scene.submitted(world)
    task_id, topic = names["task_id"], f"logs:{names['task_id']}"
    await socket.subscribed(topic)
    socket.reads.clear()
    sent = 0
    [viewer] = world.services[LiveUpdates]._viewers
    async with asyncio.timeout(60):
        while viewer.has(topic):
            await post_lines(world, task_id, sent, 100)
            sent += 100
            await asyncio.sleep(0.05)
    socket.reads.set()
    seen: list[str] = []
    resets = 0
    while len(seen) < sent:
        frame = await socket.frame_of(topic)
        if frame["op"] == "reset":
            resets += 1
            socket.subscribe(topic, frame["cursor"])
        else:
            lines = frame["data"]["lines"]
            seen += [line["log"] for line in lines if line["log"].isdigit()]
    assert seen == [str(n) for n in range(sent)]
    assert resets


async def test_a_line_that_is_committed_late_is_neither_lost_nor_repeated(
    world: World, pool: Database
) -> None:
    names = await scene.submitted(world)
    task_id, topic = names["task_id"], f"logs:{names['task_id']}"
    app: Any = world.clients["admin"].app
    token = world.clients["admin"].token

    def row(text: str) -> tuple[Any, ...]:
        return (task_id, None, None, None, None, clock.now(), 0, None, None, text)

    async with pool.acquire() as slow, pool.acquire() as quick:
        writing = slow.transaction()
        await writing.start()
        await copy_lines(slow, [row("late 1"), row("late 2")])
        async with live(app, token) as socket:
            await socket.subscribed(topic)
            await copy_lines(quick, [row("early")])
            world.services[LiveUpdates]._news.lines(task_id)
            while not posted(frame := await socket.frame_of(topic)):
                pass
            assert posted(frame) == ["early"]
        await writing.commit()
    async with live(app, token) as socket:
        socket.subscribe(topic, frame["cursor"])
        missed = await socket.frame_of(topic)
        assert posted(missed) == ["late 1", "late 2"]
    async with live(app, token) as socket:
        assert posted(await socket.subscribed(topic, missed["cursor"])) == []
