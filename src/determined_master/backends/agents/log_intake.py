"""Stores the output of one agent: each container in order, none waiting for another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from msgspec.structs import replace

from determined_master.backends.agents.frames import Malformed
from determined_master.domain.errors import NotFound
from determined_master.ports.agents import AgentEvents
from determined_wire.agent_link import LogBatch, LogStored
from determined_wire.backoff import Backoff

log = logging.getLogger(__name__)

WINDOW = 4
"""Batches of a container that an agent may send before the first is acknowledged."""
CONCURRENT_STORES = 4

_BACKOFF = Backoff(0.2, 30.0)


def by_our_clock(batch: LogBatch, ahead_us: int) -> LogBatch:
    """A batch of an agent whose clock is ahead, with corrected times."""
    if not ahead_us:
        return batch
    spans = tuple(replace(span, at_us=max(0, span.at_us - ahead_us)) for span in batch.spans)
    return replace(batch, spans=spans)


class LogIntake:
    """Queues of batches, one for each container."""

    def __init__(
        self,
        agent_id: str,
        events: AgentEvents,
        tasks: asyncio.TaskGroup,
        answer: Callable[[LogStored], None],
    ) -> None:
        self._agent_id = agent_id
        self._events = events
        self._tasks = tasks
        self._answer = answer
        self._queues: dict[str, asyncio.Queue[LogBatch]] = {}
        self._turn = asyncio.Semaphore(CONCURRENT_STORES)

    def put(self, batch: LogBatch) -> None:
        """Accept a batch. Raises Malformed when it is invalid or out of turn."""
        lines = batch.text.count("\n") + 1 if batch.spans else 0
        counted = sum(span.count for span in batch.spans)
        if counted != lines or any(span.count < 1 for span in batch.spans) or batch.first_seq < 1:
            raise Malformed(f"a log batch of {lines} lines that counts {counted}")
        queue = self._queues.get(batch.container_id)
        if queue is None:
            queue = self._queues[batch.container_id] = asyncio.Queue(WINDOW)
            self._tasks.create_task(self._store_all(batch.container_id, queue))
        try:
            queue.put_nowait(batch)
        except asyncio.QueueFull:
            raise Malformed(f"more than {WINDOW} log batches of a container at once") from None

    async def _store_all(self, container_id: str, queue: asyncio.Queue[LogBatch]) -> None:
        is_last = False
        while not is_last:
            batch = await queue.get()
            seq = await self._store(batch)
            is_last = batch.is_last
            self._answer(LogStored(container_id, seq, is_last))
        del self._queues[container_id]

    async def _store(self, batch: LogBatch) -> int:
        """Store one batch, with as many attempts as needed: dropping it would lose lines."""
        for pause_s in _BACKOFF.pauses():
            try:
                async with self._turn:
                    return await self._events.store_logs(self._agent_id, batch)
            except NotFound:
                log.warning(
                    "output of a task that is gone is dropped", extra={"task": batch.task_id}
                )
                return batch.first_seq - 1 + sum(span.count for span in batch.spans)
            except Exception:
                log.exception("storing output failed", extra={"task": batch.task_id})
            await asyncio.sleep(pause_s)
        raise AssertionError("unreachable")
