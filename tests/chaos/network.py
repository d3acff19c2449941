"""The network: sockets between agents and masters, and requests to a master.

A cut holds frames back, as TCP does, until it is over or one end gives the connection up; a reset
closes both ends at once. Frames of one connection come in their order; what both ends send again
after a lost connection comes twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Protocol

from tests.chaos.loop import PROCESS, Process, SimLoop
from websockets.exceptions import ConnectionClosedError

from determined_master.store.connection_errors import DATABASE_AWAY

_LATENCY_S = 0.005
_KEEPALIVE_S = (45.0, 60.0)
_OPEN_S = 10.0
_REQUEST_S = 30.0
_LOST_ANSWERS = 0.01


class Front(Protocol):
    """A master as the network sees it."""

    process: Process

    async def endpoint(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve an agent's socket."""


class Network:
    """Which place is cut off from the masters, and how slow everything is."""

    def __init__(self, random: Random, front: Callable[[], Front | None]) -> None:
        self._random = random
        self.front = front
        """The master that answers at the cluster's address now; None when nobody listens."""
        self.slow = 1.0
        """How many times slower than usual."""
        self.frames = 0
        self.on_frame: Callable[[Process, str, bool], None] = lambda *_: None
        """Told of each frame, before it is sent and after it has arrived; may kill."""
        self._cut: set[str] = set()
        self._wires: dict[Wire, None] = {}
        self._healed = asyncio.Event()

    def latency_s(self) -> float:
        """How long a frame travels."""
        return self.slow * self._random.random() * _LATENCY_S

    def is_cut(self, place: str) -> bool:
        """Whether nothing passes between a place and the masters."""
        return place in self._cut

    def cut(self, place: str) -> None:
        """Let nothing pass any more; nobody is told."""
        self._cut.add(place)
        for wire in list(self._wires):
            if wire.place == place:
                wire.suspect(self._random.uniform(*_KEEPALIVE_S))

    def heal(self, place: str) -> None:
        """Let all pass again; what waited comes now."""
        self._cut.discard(place)
        healed, self._healed = self._healed, asyncio.Event()
        healed.set()
        for wire in list(self._wires):
            wire.flush()

    def reset(self, place: str) -> None:
        """Close the connections of a place, at both ends."""
        for wire in list(self._wires):
            if wire.place == place:
                wire.break_off()

    def suspect(self, process: Process) -> None:
        """A master stands still: agents give it up, in time."""
        for wire in list(self._wires):
            if wire.master is process:
                wire.suspect(self._random.uniform(*_KEEPALIVE_S))

    def dial(self, url: str, **_: Any) -> Dial:
        """Stands for `websockets.connect`, for the agent that runs."""
        return Dial(self)

    async def open(self, agent: Process, place: str) -> Wire:
        """Connect an agent with whatever master is there. Raises OSError."""
        await asyncio.sleep(self.latency_s())
        front = None if self.is_cut(place) else self.front()
        if self.is_cut(place) or (front is not None and front.process.is_stopped):
            await asyncio.sleep(_OPEN_S)
            raise TimeoutError("no answer")
        if front is None:
            raise ConnectionRefusedError("nobody listens")
        wire = Wire(self, agent, front.process, place)
        self._wires[wire] = None
        scope = {"client": (f"10.0.0.{len(place)}", 1), "headers": []}
        front.process.spawn(front.endpoint(scope, wire.asgi_receive, wire.asgi_send))
        return wire

    def forget(self, wire: Wire) -> None:
        """A connection is gone at both ends."""
        self._wires.pop(wire, None)

    async def request(self, place: str, make: Callable[[Any], Awaitable[Any]]) -> Any:
        """Ask the master something, once.

        Raises:
            OSError: no answer came; it may have been done all the same. DetError: the answer.
        """
        async with asyncio.timeout(_REQUEST_S):
            await asyncio.sleep(self.latency_s())
            await self._passage(place)
            front = self.front()
            if front is None:
                raise ConnectionRefusedError("nobody listens")
            result = await _answer_of(front, make)
            await asyncio.sleep(self.latency_s())
            await self._passage(place)
            if self._random.random() < _LOST_ANSWERS:
                raise ConnectionResetError("the answer was lost")
            return result

    async def _passage(self, place: str) -> None:
        while self.is_cut(place):
            await self._healed.wait()


async def _answer_of(front: Any, make: Callable[[Any], Awaitable[Any]]) -> Any:
    """What a master answers, unless it dies before."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def settle(result: Any, error: Exception | None = None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
            answer.exception()  # who asked may be gone: then nobody reads it, and that is right
        else:
            answer.set_result(result)

    def lose() -> None:
        settle(None, ConnectionResetError("the master is gone"))

    async def serve() -> None:
        try:
            settle(await make(front))
        except DATABASE_AWAY as error:  # as the API answers it: try again
            settle(None, ConnectionError(repr(error)))
        except Exception as error:
            settle(None, error)

    front.process.at_death.append(lose)
    try:
        front.process.spawn(serve())
        return await answer
    finally:
        if not front.process.is_dead:
            front.process.at_death.remove(lose)


class _Way:
    """One direction of a connection."""

    def __init__(self) -> None:
        self.arrived: deque[Any] = deque()
        self.held: deque[Any] = deque()
        self.under_way: deque[Any] = deque()
        self.news = asyncio.Event()
        self.last_at = 0.0
        self.is_closed = False
        """The end that reads has been told that no more will come."""


class Wire:
    """One connection of an agent with a master."""

    def __init__(self, network: Network, agent: Process, master: Process, place: str) -> None:
        self.agent, self.master, self.place = agent, master, place
        self._network = network
        self._to_master, self._to_agent = _Way(), _Way()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop)
        self._loop = loop
        agent.at_death.append(self._agent_died)
        master.at_death.append(self._master_died)
        self._put(self._to_master, {"type": "websocket.connect"})

    @property
    def local_address(self) -> tuple[str, int]:
        """As the agent sees itself."""
        return f"10.1.{len(self.place)}.1", 1

    # The agent's end.

    async def send(self, data: bytes) -> None:
        """Send a frame. Raises ConnectionClosedError."""
        self._network.on_frame(self.agent, "sent", False)
        if self.agent.is_dead:
            await asyncio.Event().wait()
        if self._to_agent.is_closed:
            raise ConnectionClosedError(None, None)
        self._put(self._to_master, {"type": "websocket.receive", "bytes": data})

    async def recv(self) -> bytes:
        """The next frame. Raises ConnectionClosedError."""
        way = self._to_agent
        while not way.arrived:
            if way.is_closed:
                raise ConnectionClosedError(None, None)
            way.news.clear()
            await way.news.wait()
        self._network.on_frame(self.agent, "received", True)
        if self.agent.is_dead:
            await asyncio.Event().wait()
        data: bytes = way.arrived.popleft()
        return data

    def __aiter__(self) -> Wire:
        return self

    async def __anext__(self) -> bytes:
        return await self.recv()

    def close(self) -> None:
        """The agent leaves."""
        self._close_way(self._to_agent)
        self._put(self._to_master, None)

    # The master's end.

    async def asgi_receive(self) -> dict[str, Any]:
        """The next event."""
        way = self._to_master
        while not way.arrived:
            if way.is_closed:
                return {"type": "websocket.disconnect", "code": 1006}
            way.news.clear()
            await way.news.wait()
        self._network.on_frame(self.master, "received", True)
        if self.master.is_dead:
            await asyncio.Event().wait()
        event: dict[str, Any] = way.arrived.popleft()
        return event

    async def asgi_send(self, event: dict[str, Any]) -> None:
        """Send an event. Raises OSError when the agent is gone."""
        self._network.on_frame(self.master, "sent", False)
        if self.master.is_dead:
            await asyncio.Event().wait()
        if self._to_master.is_closed:
            raise ConnectionResetError("the agent is gone")
        if event["type"] == "websocket.send":
            self._put(self._to_agent, event["bytes"])
        elif event["type"] == "websocket.close":
            self._put(self._to_agent, None)
            self._close_way(self._to_master)

    # What happens to it.

    def break_off(self) -> None:
        """Both ends are closed at once."""
        self._close_way(self._to_agent)
        self._close_way(self._to_master)
        self._network.forget(self)

    def suspect(self, seconds: float) -> None:
        """The agent gives the connection up unless it works again by then."""
        self._loop.later(seconds, self._give_up)

    def flush(self) -> None:
        """What was held back arrives."""
        for way in (self._to_master, self._to_agent):
            held, way.held = [*way.held], deque()
            for item in held:
                self._put(way, item)

    def _give_up(self) -> None:
        if self._network.is_cut(self.place) or self.master.is_stopped:
            self._close_way(self._to_agent)
            self._put(self._to_master, None)

    def _agent_died(self) -> None:
        self._put(self._to_master, None)
        self._to_agent.is_closed = True

    def _master_died(self) -> None:
        self._put(self._to_agent, None)
        self._to_master.is_closed = True

    def _put(self, way: _Way, item: Any) -> None:
        """Send an item, or with None the end, in the order of those before."""
        if self._network.is_cut(self.place):
            way.held.append(item)
            return
        at = max(way.last_at, self._loop.time() + self._network.latency_s())
        way.last_at = at
        way.under_way.append(item)
        self._loop.later(at - self._loop.time(), self._arrive, way)

    def _arrive(self, way: _Way) -> None:
        item = way.under_way.popleft()  # the first, whichever's time it is: none is overtaken
        if way.is_closed:
            return
        if self._network.is_cut(self.place):
            way.held.append(item)
            return
        self._network.frames += 1
        if item is None:
            self._close_way(way)
        else:
            way.arrived.append(item)
            way.news.set()

    def _close_way(self, way: _Way) -> None:
        way.is_closed = True
        way.news.set()
        if self._to_agent.is_closed and self._to_master.is_closed:
            for process, notice in (
                (self.agent, self._agent_died),
                (self.master, self._master_died),
            ):
                if not process.is_dead and notice in process.at_death:
                    process.at_death.remove(notice)
            self._network.forget(self)


class Dial:
    """`async with connect(…) as socket`, for the agent that runs."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._wire: Wire | None = None

    async def __aenter__(self) -> Wire:
        process = PROCESS.get()
        assert process is not None
        self._wire = await self._network.open(process, process.name)
        return self._wire

    async def __aexit__(self, *error: object) -> None:
        if self._wire is not None:
            self._wire.close()
