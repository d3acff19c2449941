"""The agent's view of a running container: its output, its end, and its signals."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any

from determined_agent import clock
from determined_agent.container.directory import Exit
from determined_agent.runtimes.docker.api import (
    DockerApi,
    DockerApiError,
    DockerUnreachable,
    Request,
)
from determined_agent.runtimes.docker.daemon import DataRoot, with_disk_fault
from determined_agent.runtimes.docker.inspection import (
    ended_us,
    exit_of,
    inspect,
    is_being_removed,
    is_running,
)
from determined_agent.runtimes.docker.output import ContainerOutput
from determined_agent.runtimes.docker.pipes import OutputPipes, open_pipes
from determined_wire.agent_link import Address, Failure
from determined_wire.backoff import Backoff

GONE = "the container is gone: someone else has removed it from Docker"

_STALL_S = 15.0
"""If the log of an ended container makes no progress for this long, it is read again."""
_LOOK_S = 300.0
"""Interval of checks for an end that the daemon has not reported."""
_BACKOFF = Backoff(0.1, 5.0)
_SIGNAL_S = 30.0
"""How long sending a signal other than 9 is retried."""
_WAITING_FOR_DAEMON_NOTE = "{}; the task keeps running if it can, and the agent keeps trying"


class DockerContainer:
    """A started container; implements `runtimes.base.Handle`."""

    def __init__(
        self,
        api: DockerApi,
        docker_id: str,
        output: ContainerOutput,
        addresses: tuple[Address, ...],
        data_root: DataRoot,
        *,
        follows: bool = True,
    ) -> None:
        """
        Args:
            api: the daemon.
            docker_id: the container's id in the daemon.
            output: receives its output; closed with this object.
            addresses: where its ports are.
            data_root: the disk that it writes to.
            follows: whether following the daemon's log returns all lines. Podman's loses lines of
                a fast writer, so its log is polled instead.
        """
        self._follows = follows
        self._api = api
        self._docker_id = docker_id
        self._output = output
        self._addresses = addresses
        self._data_root = data_root
        self._has_noted_error = False
        self._was_down = False
        self._pipes: OutputPipes | None = None
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watching = self._spawn(self._watch())

    async def wait(self) -> Exit:
        """Wait for its end, with all of its output in the spool."""
        return await asyncio.shield(self._watching)

    def signal(self, number: int) -> None:
        """Send a signal to its first process; 9 kills the container reliably."""
        if not self._watching.done():
            self._spawn(self._send(number))

    def addresses(self) -> tuple[Address, ...]:
        return self._addresses

    def detach(self) -> None:
        """Stop watching; the container keeps running."""
        for task in self._tasks:
            task.cancel()
        self._close_pipes()
        self._output.close()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _watch(self) -> Exit:
        copying = self._spawn(self._copy())
        with contextlib.suppress(DockerApiError, DockerUnreachable):
            self._open_pipes(await self._inspect())
        ended = await self._wait_for_exit()
        is_whole = await self._has_finished(copying)
        if ended is not None or not is_whole:
            await self._read_rest()  # a followed log may end before the last lines
        if ended is not None and self._was_down:
            self._copy_pipes(ended)
        self._close_pipes()
        if ended is None:
            return Exit(failure=Failure("restore_error", GONE), dropped_lines=self._output.dropped)
        end = exit_of(ended, self._output.dropped, daemon_was_down=self._was_down)
        return await with_disk_fault(end, self._data_root)

    async def _copy(self) -> None:
        """Copy output until the container has ended."""
        for pause_s in _BACKOFF.pauses():
            try:
                before = None if self._follows else await self._inspect()
                await self._output.copy(follow=self._follows)
                ended = await self._inspect() if self._follows else before
                if ended is None or not is_running(ended):
                    return
            except DockerApiError:
                return
            except DockerUnreachable as error:
                self._note_once(str(error))
            await asyncio.sleep(pause_s)

    async def _has_finished(self, copying: asyncio.Task[None]) -> bool:
        """Wait for a copy while it makes progress; cancel one that stalls."""
        last = -1
        while last != self._output.received and not copying.done():
            last = self._output.received
            await asyncio.wait({copying}, timeout=_STALL_S)
        is_done = copying.done()
        copying.cancel()
        await asyncio.wait({copying})
        return is_done

    async def _read_rest(self) -> None:
        """Read the rest of the log, from where the copy ended or stalled."""
        reading = self._spawn(self._output.copy(follow=False))
        if not await self._has_finished(reading):
            self._output.note("the end of the output could not be read: Docker stopped sending it")
        elif not reading.cancelled() and reading.exception() is not None:
            self._output.note(f"the end of the output could not be read: {reading.exception()}")

    def _open_pipes(self, inspection: dict[str, Any] | None) -> None:
        """Hold the pipes, so that output is not lost if it ends while the daemon is down."""
        if (
            self._pipes is None
            and self._follows
            and inspection is not None
            and is_running(inspection)
        ):
            self._pipes = open_pipes(self._docker_id, int(inspection["State"].get("Pid") or 0))

    def _copy_pipes(self, ended: dict[str, Any]) -> None:
        """Add the output that the daemon has not read, after all of Docker's log."""
        if self._pipes is None:
            self._output.note(
                "Docker's daemon was down when the container ended: its last lines may be missing"
            )
            return
        at_us = ended_us(ended) or int(clock.now().timestamp() * 1e6)
        self._output.add(self._pipes.read_rest(), at_us)

    def _close_pipes(self) -> None:
        if self._pipes is not None:
            self._pipes.close()
            self._pipes = None

    async def _wait_for_exit(self) -> dict[str, Any] | None:
        """Wait until it has ended; return Docker's report about it, None if it is gone."""
        pauses = _BACKOFF.pauses()
        while True:
            try:
                await self._wait_for_exit_event()
                inspection = await self._inspect()
                if inspection is None or not is_running(inspection):
                    return None if is_being_removed(inspection) else inspection
                pauses, self._was_down = _BACKOFF.pauses(), False
                self._open_pipes(inspection)
            except DockerApiError as error:
                self._note_once(f"Docker cannot report on the container: {error}")
            except DockerUnreachable as error:
                self._was_down = True
                self._note_once(str(error))
            await asyncio.sleep(next(pauses))

    async def _wait_for_exit_event(self) -> None:
        """Wait for the daemon to report the end, for a limited time."""
        request = Request(
            method="POST",
            path=f"/containers/{self._docker_id}/wait",
            query={"condition": "not-running"},
            within_s=2 * _LOOK_S,  # Podman sends the head only at the end
        )
        try:
            async with asyncio.timeout(_LOOK_S), self._api.stream(request) as pieces:
                async for _ in pieces:
                    continue
        except TimeoutError:
            return
        except DockerApiError as error:
            if error.status != 404:
                raise

    async def _inspect(self) -> dict[str, Any] | None:
        return await inspect(self._api, self._docker_id)

    async def _send(self, number: int) -> None:
        request = Request(
            method="POST",
            path=f"/containers/{self._docker_id}/kill",
            query={"signal": str(number)},
        )
        pauses, waited_s = _BACKOFF.pauses(), 0.0
        async with self._sending:
            while number == signal.SIGKILL or waited_s < _SIGNAL_S:
                try:
                    await self._api.call(request)
                except DockerApiError as error:
                    if error.status in (404, 409):
                        return  # it has just ended
                    self._note_once(f"Docker refused to send signal {number}: {error}")
                except DockerUnreachable as error:
                    self._note_once(str(error))
                else:
                    return
                pause_s = next(pauses)
                await asyncio.sleep(pause_s)
                waited_s += pause_s

    def _note_once(self, reason: str) -> None:
        if not self._has_noted_error:
            self._has_noted_error = True
            self._output.note(_WAITING_FOR_DAEMON_NOTE.format(reason))
