"""A small keep-alive client, for machines without `wrk`: slower, so its figures are lower."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Requests: TypeAlias = Iterator[bytes]


@dataclass(frozen=True)
class Times:
    """How long each answer took, and all of them together."""

    latencies_s: list[float]
    seconds: float

    def percentile(self, percent: int) -> float:
        """Seconds within which that share of the answers came."""
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def run(host: str, port: int, requests: Requests, connections: int, seconds: float) -> Times:
    """Send requests over so many connections, one at a time on each.

    Raises:
        RuntimeError: an answer was no success, or the requests ran out.
    """
    return asyncio.run(_run(host, port, requests, connections, seconds))


async def _run(
    host: str, port: int, requests: Requests, connections: int, seconds: float
) -> Times:
    latencies: list[float] = []
    since = time.perf_counter()

    async def one() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            while (sent_at := time.perf_counter()) < since + seconds:
                request = next(requests, None)
                if request is None:
                    raise RuntimeError("the requests ran out before the time was over")
                writer.write(request)
                await _read_answer(reader)
                latencies.append(time.perf_counter() - sent_at)
        finally:
            writer.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(one())
    return Times(latencies, time.perf_counter() - since)


async def _read_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    status = head.split(b" ", 2)[1]
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            await reader.readexactly(int(value))
    if status != b"200":
        raise RuntimeError(f"answered {head.splitlines()[0]!r}")
