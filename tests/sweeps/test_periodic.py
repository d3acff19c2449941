"""Loops that fail begin again."""

from __future__ import annotations

import asyncio
import logging

import pytest

from determined_master.sweeps.periodic import keep_running


async def test_a_failed_loop_is_logged_and_restarts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun: list[int] = []
    third = asyncio.Event()

    async def fails_twice() -> None:
        begun.append(len(begun))
        if len(begun) < 3:
            raise RuntimeError("nobody foresaw this")
        third.set()
        await asyncio.Event().wait()

    with caplog.at_level(logging.ERROR):
        running = asyncio.create_task(keep_running(fails_twice, pause_s=0))
        async with asyncio.timeout(60):
            await third.wait()
    assert begun == [0, 1, 2]
    assert [r.loop.rpartition(".")[2] for r in caplog.records] == ["fails_twice"] * 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
