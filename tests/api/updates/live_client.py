"""A client's side of the live channel, in process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from determined_master.api.app import Api

PATH = "/api/ui/v1/live"
DEADLINE_S = 60


class LiveSocket:
    """One WebSocket."""

    def __init__(
        self, api: Api, token: str, headers: Mapping[str, str] | None = None, path: str = PATH
    ) -> None:
        self._to_server: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to_client: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to_server.put_nowait({"type": "websocket.connect"})
        self.reads = asyncio.Event()
        """Cleared while the client takes nothing."""
        self.reads.set()
        sent = {"host": "test", "upgrade": "websocket"}
        sent |= {"authorization": f"Bearer {token}"} if token else {}
        sent |= headers or {}
        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(n.encode(), v.encode()) for n, v in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8080),
            "scheme": "ws",
            "extensions": {"websocket.http.response": {}},
        }
        self.task = asyncio.create_task(
            api(scope, self._to_server.get, self._take)  # type: ignore[arg-type]
        )

    async def _take(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self._to_client.put_nowait(message)

    def send(self, message: Any) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        self._to_server.put_nowait({"type": "websocket.receive", "text": text})

    def send_bytes(self, data: bytes) -> None:
        self._to_server.put_nowait({"type": "websocket.receive", "bytes": data})

    def subscribe(self, topic: str, cursor: str = "") -> None:
        self.send({"op": "subscribe", "topic": topic, **({"cursor": cursor} if cursor else {})})

    async def event(self) -> dict[str, Any]:
        async with asyncio.timeout(DEADLINE_S):
            return await self._to_client.get()

    async def frame(self) -> dict[str, Any]:
        event = await self.event()
        assert event["type"] == "websocket.send", event
        frame: dict[str, Any] = json.loads(event["text"])
        return frame

    async def frame_of(self, topic: str, op: str = "") -> dict[str, Any]:
        """The next frame of a topic; those of others are dropped."""
        while True:
            frame = await self.frame()
            if frame.get("topic") == topic and op in ("", frame["op"]):
                return frame

    async def subscribed(self, topic: str, cursor: str = "") -> dict[str, Any]:
        """Subscribe; the first frame."""
        self.subscribe(topic, cursor)
        return await self.frame_of(topic)

    async def closed(self) -> int:
        """The code that the server closes with."""
        while (event := await self.event())["type"] == "websocket.send":
            pass
        assert event["type"] == "websocket.close", event
        return int(event["code"])

    async def leave(self) -> None:
        self.reads.set()
        self._to_server.put_nowait({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(DEADLINE_S):
            await self.task


@contextlib.asynccontextmanager
async def live(api: Api, token: str) -> AsyncIterator[LiveSocket]:
    """A socket that the server has accepted; the client leaves, also when its test fails."""
    socket = LiveSocket(api, token)
    try:
        assert (await socket.event())["type"] == "websocket.accept"
        yield socket
    finally:
        await socket.leave()
