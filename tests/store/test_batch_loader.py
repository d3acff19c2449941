"""Look-ups that wait together cost one query, and never see an answer older than themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from determined_master.store.batch_loader import BatchLoader


class Database:
    """Answers when it is let; counts what it was asked."""

    def __init__(self) -> None:
        self.value = 0
        self.asked: list[list[str]] = []
        self.may_answer = asyncio.Semaphore(0)

    async def fetch(self, keys: Sequence[str]) -> dict[str, int]:
        """The value as it is when the query begins."""
        self.asked.append(list(keys))
        found = dict.fromkeys((k for k in keys if k != "nothing"), self.value)
        await self.may_answer.acquire()
        return found


async def started(gathering: BatchLoader[str, int], *keys: str) -> list[asyncio.Task[int | None]]:
    tasks = [asyncio.create_task(gathering.find(key)) for key in keys]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_waiting_look_ups_share_one_query() -> None:
    database = Database()
    gathering = BatchLoader(database.fetch)
    first = await started(gathering, "a")
    others = await started(gathering, "a", "b", "a", "nothing")
    database.may_answer.release()
    database.may_answer.release()
    assert await asyncio.gather(*first, *others) == [0, 0, 0, 0, None]
    assert database.asked == [["a"], ["a", "b", "nothing"]]


async def test_a_look_up_sees_what_was_written_before_it() -> None:
    database = Database()
    gathering = BatchLoader(database.fetch)
    [early] = await started(gathering, "a")
    database.value = 1
    [late] = await started(gathering, "a")
    database.may_answer.release()
    database.may_answer.release()
    assert (await early, await late) == (0, 1)


async def test_a_failed_query_fails_its_waiting_callers_only() -> None:
    class Broken(Exception):
        pass

    fails = [True, False]

    async def fetch(keys: Sequence[str]) -> dict[str, int]:
        if fails.pop(0):
            raise Broken
        return dict.fromkeys(keys, 1)

    gathering = BatchLoader(fetch)
    with pytest.raises(Broken):
        await gathering.find("a")
    assert await gathering.find("a") == 1
