"""How long the event loop was held at most: nothing may hold it for more than 20 ms."""

from __future__ import annotations

import asyncio

import msgspec

from determined_master import clock

TICK_S = 0.005
WATCH_S = 600.0
"""Time without a query after which the monitor stops; ticking costs half a percent of a core."""


class Stall(msgspec.Struct, frozen=True):
    """The longest time between two ticks beyond a tick's own, and the measured time."""

    longest_s: float
    watched_s: float


class LoopMonitor:
    """Monitors the loop from the first query on."""

    def __init__(self) -> None:
        self._is_wanted = asyncio.Event()
        self._since_s = self._asked_at_s = 0.0
        self._longest_s = 0.0

    def read(self) -> Stall:
        """The longest stall since the last query; starts the next measurement."""
        now_s = clock.monotonic_s()
        stall = Stall(0.0, 0.0)
        if self._is_wanted.is_set():
            stall = Stall(self._longest_s, now_s - self._since_s)
        self._since_s = self._asked_at_s = now_s
        self._longest_s = 0.0
        self._is_wanted.set()
        return stall

    async def run(self) -> None:
        """Tick while a client is interested; cancelled at the master's end."""
        while True:
            await self._is_wanted.wait()
            last_s = clock.monotonic_s()
            while last_s - self._asked_at_s < WATCH_S:
                await asyncio.sleep(TICK_S)
                now_s = clock.monotonic_s()
                self._longest_s = max(self._longest_s, now_s - last_s - TICK_S)
                last_s = now_s
            self._is_wanted.clear()
