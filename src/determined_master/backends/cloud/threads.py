"""Blocking calls, made in a provider's own threads with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from determined_master.ports.machines import ProviderFailed

T = TypeVar("T")
THREADS = 2
DEADLINE_S = 55.0
"""Below the minute that the port allows."""


class Threads:
    """The threads of one provider. A call that exceeds its deadline continues without a result."""

    def __init__(self, name: str, deadline_s: float = DEADLINE_S) -> None:
        """`name` is the cloud's, for errors."""
        self._name = name
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"machines-{name}")

    async def run(self, call: Callable[[], T]) -> T:
        """The result of the call. Raises its errors, and ProviderFailed when it takes too long."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._deadline_s):
                return await loop.run_in_executor(self._threads, call)
        except TimeoutError:
            text = f"{self._name} did not answer in {self._deadline_s:g} s"
            raise ProviderFailed(f"{text}: check that the master reaches it") from None

    async def close(self) -> None:
        """Wait for the threads: each call in them has its own timeouts."""
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
