"""The live channel of the web UI: over one WebSocket, or the same frames as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from urllib.parse import parse_qs

from determined_master import clock
from determined_master.api.http.access import FILTERED
from determined_master.api.http.middleware import caller_of
from determined_master.api.http.reauthorization import RECHECK_S
from determined_master.api.http.routes import Call, Reply, plain_route, socket_route
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import DetError, InvalidArgument
from determined_master.domain.updates.live import (
    MAX_MESSAGE,
    Ping,
    Subscribe,
    Unsubscribe,
    read_request,
)
from determined_master.ports.agents import WebSocket
from determined_master.server.framed_socket import FRAMES
from determined_master.services.access.identities import Identities
from determined_master.services.failures import UNANSWERED
from determined_master.services.updates.live.connection import LiveConnection
from determined_master.services.updates.live.frames import HEARTBEAT, LiveFrame, refusal
from determined_master.services.updates.live.hub import MAX_TOPICS, LiveUpdates

HEARTBEAT_S = 15.0
LEAST_RECHECK_S = 1.0
"""Between two checks of a viewer, however often tokens and roles change."""
MAX_MALFORMED = 100
"""Messages of one connection that cannot be read."""
SIGNED_OUT, POLICY, TOO_BIG, INTERNAL, AGAIN = 4401, 1008, 1009, 1011, 1013


class _Closed(Exception):
    """The connection ends for a fault of the client."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


@socket_route("/api/ui/v1/live", access=FILTERED)
async def live_channel(
    call: Call, socket: WebSocket, live_updates: LiveUpdates, identities: Identities
) -> None:
    """Topics that the client subscribes to, until it leaves or its token is good no longer."""
    viewer = live_updates.open(call.caller)
    code = INTERNAL
    try:
        if (await socket.receive())["type"] != "websocket.connect":
            code = 0
            return
        await socket.send({"type": "websocket.accept"})
        code = await _serve(call, socket, viewer, live_updates, identities)
    finally:
        live_updates.close(viewer)
        if code:
            with contextlib.suppress(OSError, RuntimeError):
                await socket.send({"type": "websocket.close", "code": code})


@plain_route(
    "GET",
    "/api/ui/v1/live/events",
    access=FILTERED,
    query=("topics", "cursors"),
    produces="text/event-stream",
)
async def live_events(call: Call, live_updates: LiveUpdates, identities: Identities) -> Reply:
    """Frames of the `topics` in the query, as server-sent events; `cursors` in the same order."""
    wanted = _topics(call)
    live_updates.check_room(call.caller.user_id, call.caller.username)
    return Reply(
        _events(call, wanted, live_updates, identities),
        content_type="text/event-stream",
        headers=(("cache-control", "no-store"), ("x-accel-buffering", "no")),
    )


async def _serve(
    call: Call,
    socket: WebSocket,
    viewer: LiveConnection,
    live_updates: LiveUpdates,
    identities: Identities,
) -> int:
    """The code that the connection closes with; 0: there is nothing to close."""
    work = [
        asyncio.ensure_future(_read(socket, viewer, live_updates)),
        asyncio.ensure_future(_write(socket, viewer)),
        asyncio.ensure_future(_stay(call, viewer, live_updates, identities)),
    ]
    try:
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    except DetError:
        return SIGNED_OUT
    except _Closed as error:
        return error.code
    except OSError:
        return 0
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)


async def _read(socket: WebSocket, viewer: LiveConnection, live_updates: LiveUpdates) -> int:
    malformed = 0
    while True:
        event = await socket.receive()
        if event["type"] != "websocket.receive":
            return 0
        await viewer.room()  # a client that only sends is not read
        try:
            await _act(_text_of(event.get("text"), event.get("bytes")), viewer, live_updates)
        except InvalidArgument as error:
            malformed += 1
            if malformed > MAX_MALFORMED:
                raise _Closed(POLICY) from None
            viewer.push(refusal("", 400, error.text))


def _text_of(text: str | None, data: bytes | None) -> str:
    size = len(text or data or "")
    if size > MAX_MESSAGE:
        raise _Closed(TOO_BIG)
    if text is None:
        raise InvalidArgument("the message is binary: send JSON as text")
    return text


async def _act(text: str, viewer: LiveConnection, live_updates: LiveUpdates) -> None:
    match read_request(text):
        case Subscribe() as wanted:
            await live_updates.subscribe(viewer, wanted)
        case Unsubscribe(topic):
            live_updates.unsubscribe(viewer, topic)
        case Ping():
            viewer.push(HEARTBEAT)


async def _write(socket: WebSocket, viewer: LiveConnection) -> int:
    takes_frames = FRAMES in socket.scope.get("extensions", {})
    async with contextlib.aclosing(_frames(viewer)) as batches:
        async for batch in batches:
            if takes_frames:
                frames = [made.framed for made in batch]
                await socket.send({"type": FRAMES, "frames": frames})
                continue
            for made in batch:
                await socket.send({"type": "websocket.send", "text": made.payload.decode()})
    return INTERNAL


async def _frames(viewer: LiveConnection) -> AsyncGenerator[Sequence[LiveFrame]]:
    """Frames as they come, with heartbeats in between."""
    beat_s = clock.monotonic_s() + HEARTBEAT_S
    while True:
        try:
            async with asyncio.timeout(beat_s - clock.monotonic_s()):
                batch = await viewer.take()
        except TimeoutError:
            beat_s = clock.monotonic_s() + HEARTBEAT_S
            yield [HEARTBEAT]
        else:
            yield batch


async def _stay(
    call: Call, viewer: LiveConnection, live_updates: LiveUpdates, identities: Identities
) -> int:
    """Authorize the viewer again and again. Raises DetError: the token is good no longer."""

    async def caller() -> Caller:
        return await caller_of(call.http.token, identities)

    while True:
        await _recheck(viewer, live_updates, caller)


async def _recheck(
    viewer: LiveConnection, live_updates: LiveUpdates, caller: Callable[[], Awaitable[Caller]]
) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(RECHECK_S - LEAST_RECHECK_S):
            await viewer.recheck.wait()
    viewer.recheck.clear()
    with contextlib.suppress(*UNANSWERED):  # nobody is refused because the check got no answer
        await live_updates.recheck(viewer, await caller())
    await asyncio.sleep(LEAST_RECHECK_S)


def _topics(call: Call) -> list[Subscribe]:
    """The subscriptions of an address.

    Raises:
        InvalidArgument: there are none, too many, or cursors that belong to none.
    """
    query = parse_qs(call.http.query, keep_blank_values=True)
    topics = [t for text in query.get("topics", []) for t in text.split(",") if t]
    cursors = [c for text in query.get("cursors", []) for c in text.split(",")]
    if not 0 < len(topics) <= MAX_TOPICS or len(cursors) > len(topics):
        raise InvalidArgument(
            f"the query has {len(topics)} topics and {len(cursors)} cursors: name 1 to "
            f"{MAX_TOPICS} as topics=A,B and at most one cursor for each, as cursors=X,Y"
        )
    cursors += [""] * (len(topics) - len(cursors))
    return [Subscribe(t, c) for t, c in zip(topics, cursors, strict=True)]


async def _events(
    call: Call,
    wanted: Sequence[Subscribe],
    live_updates: LiveUpdates,
    identities: Identities,
) -> AsyncGenerator[bytes]:
    # Opened here: a generator that was never begun has nothing to close.
    viewer = live_updates.open(call.caller)
    batches = _frames(viewer)
    stay = asyncio.ensure_future(_stay(call, viewer, live_updates, identities))
    pending: asyncio.Future[Sequence[LiveFrame]] = asyncio.ensure_future(anext(batches))
    try:
        for subscription in wanted:
            await live_updates.subscribe(viewer, subscription)
        while True:
            await asyncio.wait((pending, stay), return_when=asyncio.FIRST_COMPLETED)
            if not pending.done():
                yield _event(refusal("", 401, "sign in again"))
                return
            batch = pending.result()
            pending = asyncio.ensure_future(anext(batches))
            yield b"".join(map(_event, batch))
            if viewer.is_over:  # all topics were refused, or have ended
                return
    finally:
        stay.cancel()
        pending.cancel()
        await asyncio.gather(stay, pending, return_exceptions=True)
        await batches.aclose()
        live_updates.close(viewer)


def _event(made: LiveFrame) -> bytes:
    return b"data: %s\n\n" % made.payload
