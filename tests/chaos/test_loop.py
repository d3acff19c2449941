"""Simulated time, and processes that are killed or stand still in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.chaos.loop import Process, SimLoop, Stalled


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    made = SimLoop()
    yield made
    made.close()


def test_an_hour_passes_at_once(loop: SimLoop) -> None:
    before = loop.time()
    loop.run_until_complete(asyncio.sleep(3600))
    assert loop.time() == before + 3600


def test_waiting_for_what_nobody_will_do_is_an_error(loop: SimLoop) -> None:
    with pytest.raises(Stalled):
        loop.run_until_complete(_wait_forever())


async def _wait_forever() -> None:
    await asyncio.Event().wait()


def test_nothing_of_a_killed_process_runs_any_more(loop: SimLoop) -> None:
    said: list[str] = []

    async def work() -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_say(said, "child"))
                await _say(said, "parent")
        finally:
            await asyncio.sleep(0)
            said.append("after its death")

    process = Process("p", loop)
    process.spawn(work())
    loop.later(2.5, process.kill)
    loop.run_until_complete(asyncio.sleep(100))
    assert said == ["child", "parent"] * 2 or said == ["parent", "child"] * 2


async def _say(said: list[str], word: str) -> None:
    while True:
        await asyncio.sleep(1)
        said.append(word)


def test_a_stopped_process_continues_where_it_was(loop: SimLoop) -> None:
    said: list[str] = []
    process = Process("p", loop)
    process.spawn(_say(said, "tick"))
    loop.later(2.5, process.stop)
    loop.run_until_complete(asyncio.sleep(10))
    assert said == ["tick"] * 2
    process.go_on()
    loop.run_until_complete(asyncio.sleep(2.5))
    assert said == ["tick"] * 5
    process.kill()
    loop.run_until_complete(asyncio.sleep(1))
