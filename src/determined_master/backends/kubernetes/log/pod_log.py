"""Copies a pod's log to the master: every line once, whatever is unavailable in between."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import msgspec

from determined_master import clock
from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.log.log_lines import (
    LineSplitter,
    PodLogLine,
    is_no_log,
    spans_of,
    text_of,
)
from determined_master.backends.kubernetes.log.log_position import LogCount, LogPosition
from determined_master.backends.kubernetes.options import Times
from determined_master.domain.errors import NotFound
from determined_master.ports.kubernetes import PodEvents
from determined_master.ports.orders import LogPlace, TaskNote
from determined_wire.agent_link import LogBatch

log = logging.getLogger(__name__)

BATCH_LINES = 4000
BATCH_BYTES = 512 * 1024
"""Limits of one read; two batches may be sent as one."""
IDLE_S = 900.0
"""Time without data after which a log is opened again: its connection may be lost."""
_QUEUE = 8
_T = TypeVar("_T")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    namespace: str
    node: str
    container_id: str
    allocation_id: str
    task_id: str


class PodLog:
    def __init__(
        self,
        source: Source,
        api: KubernetesApi,
        events: PodEvents,
        times: Times,
        stopped: asyncio.Event,
    ) -> None:
        """
        Args:
            source: the log's container.
            api: of its cluster.
            events: takes the lines.
            times: time limits.
            stopped: set once the container has ended, so that nothing more is written.
        """
        self._source = source
        self._api = api
        self._events = events
        self._times = times
        self._stopped = stopped
        self._queue: asyncio.Queue[list[PodLogLine] | None] = asyncio.Queue(_QUEUE)
        self._next_seq = 1
        self._stored = LogCount(LogPlace())
        self._tail: list[PodLogLine] | None = None
        """The unfinished last line of a reading that the server has ended."""

    async def copy(self) -> None:
        """Copy until the last line of an ended container is stored."""
        source = self._source
        stored = await self._persist(
            lambda: self._events.stored_output(source.task_id, source.container_id)
        )
        if stored is None:
            return
        self._next_seq = stored.last_seq + 1
        self._stored = LogCount(stored.place)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send())
            lost = await self._read(LogPosition(stored.place))
            await self._queue.put(None)
        if lost:
            text = f"the rest of the output of pod {source.name} could not be read: {lost}"
            await self._events.note(
                TaskNote(
                    task_id=source.task_id,
                    allocation_id=source.allocation_id,
                    container_id=source.container_id,
                    agent_id=source.node,
                    text=text,
                    level="WARNING",
                )
            )

    async def _read(self, place: LogPosition) -> str:
        """Pass all lines on. Return why the rest is lost, empty when it is not."""
        pauses = self._times.backoff.pauses()
        failing_since_s: float | None = None
        while True:
            was_stopped = self._stopped.is_set()
            try:
                await self._read_once(place)
                if was_stopped:
                    return await self._finish(place, "")
                failing_since_s = None
            except KubernetesRefused as error:
                # A kubelet that has just started does not know its pods yet, and answers 404.
                if was_stopped and error.status in (400, 404):
                    return await self._finish(place, str(error))
                reason = str(error)
            except KubernetesUnreachable as error:
                reason = str(error)
            else:
                await self._wait_for_stop(next(pauses))
                continue
            now_s = clock.monotonic_s()
            failing_since_s = failing_since_s or now_s
            if was_stopped and now_s - failing_since_s > self._times.output_s:
                return reason
            wait = asyncio.sleep if was_stopped else self._wait_for_stop
            await wait(next(pauses))

    async def _read_once(self, place: LogPosition) -> None:
        """Read the log from a line that is copied, or its beginning, to where the server ends it.

        A line without a line feed is held until nothing can follow it.

        Raises:
            Refused: also when the kubelet reports that there is no log (any more). Unreachable.
        """
        splitter = LineSplitter()
        source = self._source
        path = f"/api/v1/namespaces/{source.namespace}/pods/{source.name}/log"
        query = {"container": names.MAIN, "follow": "true", "timestamps": "true"}
        if since := place.since():
            query["sinceTime"] = since
        pieces = self._api.stream(path, query, idle_s=IDLE_S)
        is_begun = False
        async with contextlib.aclosing(pieces):
            async for piece in pieces:
                lines = list(splitter.feed(piece))
                if lines and not is_begun:
                    is_begun, self._tail = True, None
                    place.begin()
                await self._take(place, lines)
        tail = list(splitter.finish())
        if any(map(is_no_log, tail)):
            raise KubernetesRefused(400, "", tail[0].text.decode("utf-8", "replace"))
        if not is_begun:
            place.begin()
        self._tail = tail

    async def _finish(self, place: LogPosition, reason: str) -> str:
        """Nothing follows. Return why lines are missing, empty when the log was read to its end.

        A deleted pod's log disappears soon: the part that was read until the server ended it is
        complete.
        """
        if self._tail is None:
            return reason
        await self._take(place, self._tail)
        return ""

    async def _wait_for_stop(self, at_most_s: float) -> None:
        """The server ended the log: the container ended, or the connection broke."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await self._stopped.wait()

    async def _take(self, place: LogPosition, lines: list[PodLogLine]) -> None:
        fresh = [line for line in lines if place.is_new(line)]
        for part in _parts(fresh):
            await self._queue.put(part)

    async def _send(self) -> None:
        """Store the lines that were read, in batches."""
        is_last = False
        while not is_last:
            lines: list[PodLogLine] = []
            first = await self._queue.get()
            if first is not None:
                lines += first
                await asyncio.sleep(self._times.flush_s)
            is_last = first is None
            while not is_last and _has_room(lines) and not self._queue.empty():
                more = self._queue.get_nowait()
                is_last = more is None
                lines += more or ()
            await self._store(lines, is_last)

    async def _store(self, lines: list[PodLogLine], is_last: bool) -> None:
        """Store one batch, with as many attempts as needed: dropping it would lose lines."""
        source = self._source
        batch = LogBatch(
            container_id=source.container_id,
            allocation_id=source.allocation_id,
            task_id=source.task_id,
            first_seq=self._next_seq,
            text=text_of(lines),
            spans=spans_of(lines),
            is_last=is_last,
        )
        for line in lines:
            self._stored.add(line.at_us)
        place = self._stored.place()
        await self._persist(lambda: self._events.store_logs(source.node, batch, place))
        self._next_seq += len(lines)

    async def _persist(self, work: Callable[[], Awaitable[_T]]) -> _T | None:
        """Do it, with retries; None if the task no longer exists."""
        for pause_s in self._times.backoff.pauses():
            try:
                return await work()
            except NotFound:
                log.warning(
                    "output of a task that is gone is dropped",
                    extra={"task": self._source.task_id},
                )
                return None
            except Exception:
                log.exception("storing output failed", extra={"task": self._source.task_id})
            await asyncio.sleep(pause_s)
        raise AssertionError("unreachable")


def _parts(lines: list[PodLogLine]) -> Iterator[list[PodLogLine]]:
    part: list[PodLogLine] = []
    size = 0
    for line in lines:
        part.append(line)
        size += len(line.text)
        if len(part) >= BATCH_LINES or size >= BATCH_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _has_room(lines: list[PodLogLine]) -> bool:
    return len(lines) < BATCH_LINES and sum(len(line.text) for line in lines) < BATCH_BYTES
