"""Open tabs of the web UI, in a process of their own: connections that read their topics.

Usage: python -m bench.load.viewers PORT TOKEN CONNECTIONS TOPICS...

Each connection subscribes to five of the topics, the next one to the next five. The first line on
standard output says that all have their first frames. A line on standard input ends it; the last
line counts frames and bytes.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import struct
import sys
from collections.abc import Sequence

HOST = "127.0.0.1"
TOPICS_EACH = 5
OPENING = 20
"""Connections that are opened at once."""


class Counted:
    """What came."""

    def __init__(self) -> None:
        self.frames = 0
        self.bytes = 0
        self.resets = 0
        self.errors = 0


async def view(
    port: int, token: str, topics: Sequence[str], counted: Counted, opened: asyncio.Event
) -> None:
    """Read the frames of some topics until cancelled."""
    reader, writer = await asyncio.open_connection(HOST, port)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        (
            f"GET /api/ui/v1/live HTTP/1.1\r\nHost: {HOST}:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        ).encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in head.split(b"\r\n")[0]:
        raise RuntimeError(f"answered {head[:200]!r}")
    for topic in topics:
        writer.write(masked(json.dumps({"op": "subscribe", "topic": topic}).encode()))
    waiting = set(topics)
    while True:
        opcode, body = await read_frame(reader)
        if opcode == 9:
            writer.write(masked(body, opcode=10))
        if opcode == 8:
            raise RuntimeError(f"closed: {body!r}")
        if opcode != 1:
            continue
        counted.frames += 1
        counted.bytes += len(body)
        counted.resets += b'"op":"reset"' in body[:400]
        counted.errors += b'"op":"error"' in body[:400]
        if waiting:
            waiting.discard(json.loads(body).get("topic"))
            if not waiting:
                opened.set()


def masked(body: bytes, opcode: int = 1) -> bytes:
    """A short frame of a client; the mask is zero."""
    return struct.pack("!BB", 0x80 | opcode, 0x80 | len(body)) + b"\0\0\0\0" + body


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Opcode and body of a frame of the server."""
    first, length = await reader.readexactly(2)
    if length == 126:
        (length,) = struct.unpack("!H", await reader.readexactly(2))
    elif length == 127:
        (length,) = struct.unpack("!Q", await reader.readexactly(8))
    return first & 15, await reader.readexactly(length)


async def main(port: int, token: str, connections: int, topics: Sequence[str]) -> None:
    counted = Counted()
    turn = itertools.cycle(topics)
    tasks: list[asyncio.Task[None]] = []
    waiting: list[asyncio.Event] = []
    for n in range(connections):
        mine = [next(turn) for _ in range(TOPICS_EACH)]
        waiting.append(asyncio.Event())
        tasks.append(asyncio.create_task(view(port, token, mine, counted, waiting[-1])))
        if n % OPENING == OPENING - 1:
            await asyncio.gather(*(event.wait() for event in waiting))
    await asyncio.gather(*(event.wait() for event in waiting))
    before = vars(counted).copy()
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    failed = [task.exception() for task in tasks if task.done()]
    if failed:
        raise RuntimeError(f"{len(failed)} connections have ended: {failed[0]}")
    print(json.dumps({name: value - before[name] for name, value in vars(counted).items()}))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
