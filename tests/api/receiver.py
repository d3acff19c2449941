"""A server that keeps what is posted to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Receiver:
    """Answers `status`; while `is_open` is clear it answers nothing."""

    url: str = ""
    status: int = 200
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    attempts: int = 0
    is_open: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def events(self) -> list[Any]:
        """What has arrived, decoded."""
        return [json.loads(body) for body in self.bodies]

    async def wait_for(self, count: int) -> list[Any]:
        """The first events, once so many have arrived."""
        async with asyncio.timeout(20):
            while len(self.bodies) < count:
                self.news.clear()
                await self.news.wait()
        return self.events()

    async def wait_for_attempts(self, count: int) -> None:
        """Wait until it was asked so often."""
        async with asyncio.timeout(20):
            while self.attempts < count:
                self.news.clear()
                await self.news.wait()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in head[1:] if line)
            body = await reader.readexactly(int(headers["Content-Length"]))
            self.attempts += 1
            self.news.set()
            await self.is_open.wait()
            if self.status < 300:
                self.bodies.append(body)
                self.headers.append({"request": head[0], **headers})
                self.news.set()
            location = "Location: http://127.0.0.1:1/\r\n" if 300 <= self.status < 400 else ""
            writer.write(f"HTTP/1.1 {self.status} X\r\n{location}\r\n".encode())
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    """A server on this machine."""
    made = Receiver()
    made.is_open.set()
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?a=b"
    try:
        yield made
    finally:
        made.is_open.set()
        server.close()
