"""The WebSocket of changed projects, models and model versions."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import Any

import msgspec

from determined_master.api.http.access import FILTERED
from determined_master.api.http.middleware import caller_of
from determined_master.api.http.reauthorization import RECHECK_S, Reauthorization
from determined_master.api.http.routes import Call, socket_route
from determined_master.api.http.task_use import READS
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import DetError, NotFound, ResourceExhausted
from determined_master.domain.updates.subscription import read_message
from determined_master.ports.agents import WebSocket
from determined_master.services.access.identities import Identities
from determined_master.services.updates.streams import EntityStream, EntityStreams

NORMAL, POLICY, INTERNAL = 1000, 1008, 1011


@socket_route("/stream", access=FILTERED, in_task=READS)
async def stream_entities(
    call: Call, socket: WebSocket, streams: EntityStreams, identities: Identities
) -> None:
    """Changed entities: as many messages of the client as it wants, frames until it leaves."""
    if not streams.is_enabled:
        raise NotFound(
            "api not found: GET /stream: an admin can switch streaming_updates on in "
            "feature_switches"
        )

    async def caller() -> Caller:
        return await caller_of(call.http.token, identities)

    stream = streams.open(caller)
    if stream is None:
        raise ResourceExhausted("too many streams are open: try again later")
    if (await socket.receive())["type"] != "websocket.connect":
        return
    await socket.send({"type": "websocket.accept"})
    reading = asyncio.ensure_future(_read(socket, stream))
    writing = asyncio.ensure_future(_write(socket, stream))
    code = POLICY
    try:
        await Reauthorization(caller, RECHECK_S).first_of((reading, writing))
        code = reading.result() if reading.done() else writing.result()
    except DetError:
        pass  # malformed, or the token is good no longer: the client sees the end
    except Exception:
        code = INTERNAL
        raise
    finally:
        for task in (reading, writing):
            task.cancel()
        await asyncio.gather(reading, writing, return_exceptions=True)
        if code:
            with contextlib.suppress(OSError, RuntimeError):
                await socket.send({"type": "websocket.close", "code": code})


async def _read(socket: WebSocket, stream: EntityStream) -> int:
    """Take messages until the client leaves; 0: there is nothing to close."""
    while True:
        event = await socket.receive()
        if event["type"] != "websocket.receive":
            return 0
        text = event.get("text")
        if text is None:
            text = (event.get("bytes") or b"").decode(errors="replace")
        stream.subscribe(read_message(text))


async def _write(socket: WebSocket, stream: EntityStream) -> int:
    async with contextlib.aclosing(stream.frames()) as frames:
        async for frame in frames:
            await socket.send({"type": "websocket.send", "text": _encode(frame)})
    return NORMAL


def _encode(frame: dict[str, Any]) -> str:
    shown = {
        name: _with_times(value) if isinstance(value, dict) else value
        for name, value in frame.items()
    }
    return msgspec.json.encode(shown).decode()


def _with_times(entity: dict[str, Any]) -> dict[str, Any]:
    return {n: _time(v) if isinstance(v, datetime) else v for n, v in entity.items()}


def _time(at: datetime) -> str:
    """RFC 3339 without zeros at the end of the fraction."""
    text = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return text.rstrip("0").rstrip(".") + "Z"
