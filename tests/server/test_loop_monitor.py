"""The longest stall of the loop since the last question."""

from __future__ import annotations

import asyncio
import time

import pytest

from determined_master.server.loop_monitor import LoopMonitor


@pytest.fixture
async def monitor():
    made = LoopMonitor()
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_stall_is_logged_once(monitor: LoopMonitor) -> None:
    assert monitor.read().watched_s == 0
    await asyncio.sleep(0.01)  # the loop turns, so the monitor ticks
    time.sleep(0.06)  # noqa: ASYNC251  # to hold the loop is the subject
    await asyncio.sleep(0.01)
    stall = monitor.read()
    assert 0.05 < stall.longest_s < 5
    assert stall.watched_s > 0.06
    assert monitor.read().longest_s < 0.05
