"""Pieces of work of one user leave each pass of the event loop to others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from determined_master import clock
from determined_master.server.loop_shares import FREE_REQUESTS, SHARE_S, LoopShares

ANN, BOB = 1, 2
LONG_S = 5 * SHARE_S
"""A piece of work that takes more than the share of a pass."""


class Pieces:
    """Work with a clock of its own, which each piece sets forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.shares = LoopShares()
        self._now_s = 0.0
        monkeypatch.setattr(clock, "monotonic_s", lambda: self._now_s)

    async def work(self, name: str, pieces: int, piece_s: float) -> str:
        """Pieces of work with a wait after each."""
        for _ in range(pieces):
            self._now_s += piece_s
            self.done.append(name)
            await asyncio.sleep(0)
        return name

    def start(self, user: int, name: str, pieces: int, piece_s: float) -> asyncio.Task[str]:
        """The work of a request of this user."""
        return asyncio.create_task(self.shares.run(user, self.work(name, pieces, piece_s)))


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> Pieces:
    return Pieces(monkeypatch)


async def test_others_wait_for_a_few_pieces_of_a_busy_user(pieces: Pieces) -> None:
    busy = [pieces.start(ANN, "ann", 3, LONG_S) for _ in range(200)]
    await asyncio.sleep(0)  # all of them are ready
    pieces.done.clear()
    answer = await pieces.start(BOB, "bob", 4, 0.0)
    assert answer == "bob"
    # In each pass the free ones and one more.
    assert pieces.done.count("ann") <= 6 * (FREE_REQUESTS + 1)
    await asyncio.gather(*busy)


async def test_all_work_ends_in_the_order_of_its_requests(pieces: Pieces) -> None:
    busy = [pieces.start(ANN, f"{n}", 1, LONG_S) for n in range(50)]
    assert await asyncio.gather(*busy) == [f"{n}" for n in range(50)]
    assert pieces.done == [f"{n}" for n in range(50)]


async def test_many_short_pieces_share_a_pass(pieces: Pieces) -> None:
    passes = 0

    async def count_passes() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_passes())
    await asyncio.gather(*(pieces.start(ANN, "ann", 10, SHARE_S / 100) for _ in range(100)))
    counting.cancel()
    assert passes <= 40, "1,000 pieces, about 100 in each pass"


async def test_errors_and_cancellations_reach_the_work(pieces: Pieces) -> None:
    heard: list[str] = []

    async def failing() -> None:
        await asyncio.sleep(0)
        raise ValueError("its own")

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    busy = [pieces.start(ANN, "ann", 5, LONG_S) for _ in range(FREE_REQUESTS)]
    runs: list[Coroutine[Any, Any, None]] = [
        pieces.shares.run(ANN, failing()),
        pieces.shares.run(ANN, waiting()),
    ]
    first, second = map(asyncio.create_task, runs)
    with pytest.raises(ValueError, match="its own"):
        await first
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert heard == ["cancelled"]
    await asyncio.gather(*busy)


async def test_work_that_is_cancelled_while_it_waits_for_its_turn_ends(pieces: Pieces) -> None:
    busy = [pieces.start(ANN, "ann", 3, LONG_S) for _ in range(20)]
    await asyncio.sleep(0)
    last = pieces.start(ANN, "last", 1, LONG_S)
    await asyncio.sleep(0)
    last.cancel()
    with pytest.raises(asyncio.CancelledError):
        await last
    assert "last" not in pieces.done
    await asyncio.gather(*busy)
    assert pieces.done.count("ann") == 60


async def test_a_user_without_requests_is_forgotten(pieces: Pieces) -> None:
    await asyncio.gather(*(pieces.start(ANN, "ann", 2, LONG_S) for _ in range(5)))
    assert not pieces.shares._users
