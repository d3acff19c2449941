"""A row that cannot be read costs itself and no other; other failures stay failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import asyncpg
import pytest

from determined_master.domain.errors import NotFound
from determined_master.services.broken_rows import MAX_BROKEN, sound_rows


def reader(
    broken: set[int], asked: list[Sequence[int]], error: Exception | None = None
) -> Callable[[Sequence[int]], Awaitable[list[str]]]:
    async def read(some: Sequence[int]) -> list[str]:
        asked.append(some)
        if broken & set(some):
            raise error or ValueError("year 20000 is out of range")
        return [str(i) for i in some]

    return read


async def test_sound_rows_cost_one_read() -> None:
    asked: list[Sequence[int]] = []
    assert await sound_rows(range(200), reader(set(), asked)) == [str(i) for i in range(200)]
    assert len(asked) == 1


async def test_broken_rows_are_left_out_in_order_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked: list[Sequence[int]] = []
    rows = await sound_rows(range(200), reader({0, 120, 199}, asked))
    assert rows == [str(i) for i in range(200) if i not in (0, 120, 199)]
    assert len(asked) <= 3 * 2 * 9
    assert [record.args for record in caplog.records] == [(0,), (120,), (199,)]
    assert all(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(
    "error",
    [
        NotFound("trial '7' not found"),
        asyncpg.InterfaceError("connection is closed"),
        ConnectionError("the server is away"),
        TimeoutError(),
    ],
)
async def test_failures_of_others_are_raised_at_once(error: Exception) -> None:
    asked: list[Sequence[int]] = []
    with pytest.raises(type(error)):
        await sound_rows(range(200), reader({7}, asked, error))
    assert len(asked) == 1


async def test_a_list_of_broken_rows_alone_fails() -> None:
    with pytest.raises(ValueError, match="year 20000"):
        await sound_rows(range(200), reader(set(range(200)), []))
    assert await sound_rows(range(MAX_BROKEN), reader(set(range(MAX_BROKEN)), [])) == []
