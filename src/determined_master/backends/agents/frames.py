"""One WebSocket of an agent, over ASGI: typed frames."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from determined_wire.agent_link import FromAgent, FromMaster, Refused

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_FRAME_BYTES = 16 * 1024**2
MAX_FIRST_FRAME_BYTES = 2 * 1024**2
"""Of somebody who has shown no token yet."""
POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013
_LAST_WORD_S = 2.0

_DECODER = msgspec.json.Decoder(FromAgent)


class Closed(Exception):
    """The agent's side is closed."""


class Malformed(Exception):
    """The agent sent an invalid message; it gets the text."""


class Frames:
    """Typed frames over one ASGI WebSocket; one reader and one writer at a time."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        client = scope.get("client")
        self.remote_address: str = client[0] if client else ""
        tls = (scope.get("extensions") or {}).get("tls") or {}
        names = tls.get("client_cert_names")
        self.certificate: frozenset[str] | None = None if names is None else frozenset(names)
        """The names in the certificate of the other end."""
        self.is_from_browser = any(name == b"origin" for name, _ in scope.get("headers", ()))

    async def accept(self) -> None:
        """Finish the opening handshake. Raises Closed."""
        message = await self._receive()
        if message["type"] != "websocket.connect":
            raise Closed
        await self._put({"type": "websocket.accept"})

    async def receive(self, limit: int = MAX_FRAME_BYTES) -> FromAgent:
        """The next message, of at most `limit` bytes. Raises Closed, Malformed."""
        event = await self._receive()
        if event["type"] != "websocket.receive":
            raise Closed
        data = event.get("bytes") or (event.get("text") or "").encode()
        if len(data) > limit:
            raise Malformed(f"a frame of {len(data)} bytes; at most {limit} are accepted")
        try:
            message: FromAgent = _DECODER.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Malformed(f"a frame that is not of the protocol: {error}") from error
        return message

    async def send(self, message: FromMaster) -> None:
        """Send a message. Raises Closed."""
        await self._put({"type": "websocket.send", "bytes": msgspec.json.encode(message)})

    async def refuse(self, reason: str, *, is_final: bool, unwanted: tuple[str, ...] = ()) -> None:
        """Send the reason and the containers that the agent must end; then close."""
        code = POLICY_VIOLATION if is_final else TRY_AGAIN_LATER
        try:
            async with asyncio.timeout(_LAST_WORD_S):  # it may have stopped reading
                await self.send(Refused(reason, is_final, unwanted))
                await self._put({"type": "websocket.close", "code": code})
        except (Closed, TimeoutError):
            return

    async def _put(self, event: MutableMapping[str, Any]) -> None:
        try:
            await self._send(event)
        except (OSError, RuntimeError) as error:  # servers report "closed" differently
            raise Closed from error
