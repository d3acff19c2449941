"""One container as the agent sees it: its output, its end, its signals."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any

import msgspec

from determined_agent import clock
from determined_agent.container.directory import Exit
from determined_agent.runtimes.docker.api import (
    DockerApi,
    DockerApiError,
    DockerUnreachable,
    Request,
)
from determined_agent.runtimes.docker.daemon import DataRoot
from determined_agent.runtimes.docker.output import ContainerOutput, TimestampParser
from determined_agent.runtimes.docker.pipes import OutputPipes, open_pipes
from determined_wire.agent_link import Address, Failure

GONE = "the container is gone: someone else has removed it from Docker"

WITH_THE_DAEMON = (
    "the container ended while Docker's daemon was away: set live-restore in "
    "/etc/docker/daemon.json and containers outlive it"
)

_WITH_THE_DAEMON = (137, 143, 255)
"""Codes of what was ended by a daemon that stops, or found dead by one that starts."""
_STALL_S = 15.0
"""A log of an ended container that has not moved for so long is read once more from there."""
_LOOK_S = 300.0
"""An end that was not announced is looked for after so long."""
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_SIGNAL_S = 30.0
"""How long a signal other than 9 is tried."""
_WAITING_FOR_DAEMON_NOTE = "{}; the task runs on if it can, and the agent keeps trying"


class DockerContainer:
    """A container that was started; implements `runtimes.base.Handle`."""

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
            docker_id: of the container.
            output: takes its output; closed with this.
            addresses: where its ports are.
            data_root: where it writes.
            follows: whether the daemon's followed log is whole; Podman's loses lines of a fast
                writer, so its log is read again and again instead.
        """
        self._follows = follows
        self._api = api
        self._docker_id = docker_id
        self._output = output
        self._addresses = addresses
        self._data_root = data_root
        self._has_noted_error = False
        self._was_away = False
        self._pipes: OutputPipes | None = None
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watching = self._spawn(self._watch())

    async def wait(self) -> Exit:
        """Wait for its end; all of its output is in the spool by then."""
        return await asyncio.shield(self._watching)

    def signal(self, number: int) -> None:
        """Send a signal to its first process; 9 ends all of it for sure."""
        if not self._watching.done():
            self._spawn(self._send(number))

    def addresses(self) -> tuple[Address, ...]:
        """Where its ports are."""
        return self._addresses

    def detach(self) -> None:
        """Let go; the container runs on."""
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
            await self._read_rest()  # a followed log may end before its last lines are written
        if ended is not None and self._was_away:
            self._copy_pipes(ended)
        self._close_pipes()
        if ended is None:
            return Exit(failure=Failure("restore_error", GONE), dropped_lines=self._output.dropped)
        end = exit_of(ended, self._output.dropped, daemon_was_away=self._was_away)
        return await with_disk_fault(end, self._data_root)

    async def _copy(self) -> None:
        """Copy output until the container has ended."""
        pause_s = _FIRST_PAUSE_S
        while True:
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
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _has_finished(self, copying: asyncio.Task[None]) -> bool:
        """Wait for a copy for as long as it moves; one that stands still is given up."""
        seen = -1
        while seen != self._output.received and not copying.done():
            seen = self._output.received
            await asyncio.wait({copying}, timeout=_STALL_S)
        is_done = copying.done()
        copying.cancel()
        await asyncio.wait({copying})
        return is_done

    async def _read_rest(self) -> None:
        """The log as it is now, from where the copy ended or stood still."""
        reading = self._spawn(self._output.copy(follow=False))
        if not await self._has_finished(reading):
            self._output.note("the end of the output could not be read: Docker sends no more")
        elif not reading.cancelled() and reading.exception() is not None:
            self._output.note(f"the end of the output could not be read: {reading.exception()}")

    def _open_pipes(self, found: dict[str, Any] | None) -> None:
        """Keep what it says from being lost when it ends while the daemon is away."""
        if self._pipes is None and self._follows and found is not None and is_running(found):
            self._pipes = open_pipes(self._docker_id, int(found["State"].get("Pid") or 0))

    def _copy_pipes(self, ended: dict[str, Any]) -> None:
        """What it said to nobody, after all that Docker's log has."""
        if self._pipes is None:
            self._output.note(
                "Docker's daemon was away when the container ended: its last lines may be missing"
            )
            return
        at_us = ended_us(ended) or int(clock.now().timestamp() * 1e6)
        self._output.add(self._pipes.read_rest(), at_us)

    def _close_pipes(self) -> None:
        if self._pipes is not None:
            self._pipes.close()
            self._pipes = None

    async def _wait_for_exit(self) -> dict[str, Any] | None:
        """Wait until it runs no more; what Docker says of it then, None when it is gone."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                await self._wait_for_exit_event()
                found = await self._inspect()
                if found is None or not is_running(found):
                    return None if is_being_removed(found) else found
                pause_s, self._was_away = _FIRST_PAUSE_S, False
                self._open_pipes(found)
            except DockerApiError as error:
                self._note_once(f"Docker cannot tell of the container: {error}")
            except DockerUnreachable as error:
                self._was_away = True
                self._note_once(str(error))
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _wait_for_exit_event(self) -> None:
        """Wait for the daemon to say that it has ended, for a while."""
        request = Request(
            method="POST",
            path=f"/containers/{self._docker_id}/wait",
            query={"condition": "not-running"},
            within_s=2 * _LOOK_S,  # Podman's head comes with the end
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
        pause_s, waited_s = _FIRST_PAUSE_S, 0.0
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
                await asyncio.sleep(pause_s)
                waited_s += pause_s
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _note_once(self, reason: str) -> None:
        if not self._has_noted_error:
            self._has_noted_error = True
            self._output.note(_WAITING_FOR_DAEMON_NOTE.format(reason))


async def inspect(api: DockerApi, docker_id: str) -> dict[str, Any] | None:
    """What Docker says of a container, None when there is none.

    Raises:
        DockerUnreachable: no answer.
        DockerApiError: an error other than that.
    """
    try:
        found = await api.call(Request(method="GET", path=f"/containers/{docker_id}/json"))
    except DockerApiError as error:
        if error.status == 404:
            return None
        raise
    return dict(found)


def is_running(found: dict[str, Any]) -> bool:
    """Whether its program still runs, or is paused."""
    return bool(found["State"].get("Running"))


def is_being_removed(found: dict[str, Any] | None) -> bool:
    """Whether somebody else has ordered its removal; what it ended with is that order's doing."""
    return found is not None and found["State"].get("Status") == "removing"


def is_cut_off(found: dict[str, Any]) -> bool:
    """Whether it runs on the default bridge and got no address there."""
    if not is_running(found) or found["HostConfig"].get("NetworkMode") not in (
        "bridge",
        "default",
    ):
        return False
    networks = (found.get("NetworkSettings") or {}).get("Networks") or {}
    return not any(network.get("IPAddress") for network in networks.values())


def exit_of(found: dict[str, Any], dropped_lines: int, *, daemon_was_away: bool = False) -> Exit:
    """How a container that runs no more has ended.

    Args:
        found: what the daemon says of it.
        dropped_lines: that found no room.
        daemon_was_away: whether it ended while the daemon did not answer; one that was ended by a
            signal then went with the daemon, and is not held against the task.
    """
    state = found["State"]
    code = int(state.get("ExitCode") or 0)
    message = f"container failed with non-zero exit code: {code}"
    if state.get("OOMKilled"):
        message += (
            " (the kernel ended it for want of memory: give the task or the machine more, or "
            "make its batches smaller)"
        )
    elif state.get("Error"):
        message += f" ({state['Error']})"
    failure = Failure("container_failed", message, code) if code else None
    if daemon_was_away and code in _WITH_THE_DAEMON and not state.get("OOMKilled"):
        failure = Failure("restore_error", f"{WITH_THE_DAEMON} (exit code {code})", code)
    return Exit(
        exit_code=code, failure=failure, ended_us=ended_us(found), dropped_lines=dropped_lines
    )


async def with_disk_fault(end: Exit, data_root: DataRoot) -> Exit:
    """The end of a container that failed by itself, with what is wrong with its disk."""
    failure = end.failure
    if failure is None or failure.type != "container_failed":
        return end
    fault = await data_root.fault()
    if not fault:
        return end
    named = msgspec.structs.replace(failure, message=f"{failure.message} ({fault})")
    return msgspec.structs.replace(end, failure=named)


def ended_us(found: dict[str, Any]) -> int:
    """When a container ended, in microseconds since 1970; 0 when nobody knows."""
    finished = str(found["State"].get("FinishedAt") or "")
    return max(0, TimestampParser().parse(finished.encode())) if finished[:4] > "0001" else 0


def addresses_of(found: dict[str, Any], ports: tuple[int, ...]) -> tuple[Address, ...]:
    """Where a container's ports are reached; an empty host stands for the agent's machine."""
    if (found.get("HostConfig") or {}).get("NetworkMode") == "host":
        return tuple(Address("", port, "", port) for port in ports)
    network = found.get("NetworkSettings") or {}
    own = network.get("IPAddress") or next(
        (n.get("IPAddress") or "" for n in (network.get("Networks") or {}).values()), ""
    )
    bindings = network.get("Ports") or {}
    return tuple(
        Address(own, port, _host_ip(bound), int(bound["HostPort"]))
        for port in ports
        for bound in _first_binding(bindings.get(f"{port}/tcp"))
    )


def _first_binding(bound: list[dict[str, str]] | None) -> list[dict[str, str]]:
    """IPv4 where there is a choice: both lead to the same port."""
    by_four = [b for b in bound or () if ":" not in b.get("HostIp", "")]
    return (by_four or bound or [])[:1]


def _host_ip(bound: dict[str, str]) -> str:
    info = bound.get("HostIp", "")
    return "" if info in ("0.0.0.0", "::") else info
