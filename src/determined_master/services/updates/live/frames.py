"""Frames of the live channel. Each is encoded once for all of its viewers."""

from __future__ import annotations

import struct
from typing import Literal

import msgspec

Op = Literal["snapshot", "upsert", "delete", "append", "reset", "error"]


class LiveFrame:
    """JSON text, and the frame of a WebSocket that carries it."""

    __slots__ = ("_framed", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self._framed = b""

    def __len__(self) -> int:
        return len(self.payload)

    @property
    def framed(self) -> bytes:
        """As RFC 6455, 5.2 has it: one final text frame of a server."""
        if not self._framed:
            self._framed = _head(len(self.payload)) + self.payload
        return self._framed


HEARTBEAT = LiveFrame(b'{"op":"heartbeat"}')


def frame(topic: str, seq: int, cursor: str, op: Op, data: bytes = b"") -> LiveFrame:
    """One frame; `data` is JSON text."""
    end = b',"data":%s}' % data if data else b"}"
    names = msgspec.json.encode(topic), msgspec.json.encode(cursor)
    head = b'{"topic":%s,"seq":%d,"cursor":%s,"op":"%s"' % (names[0], seq, names[1], op.encode())
    return LiveFrame(head + end)


def refusal(topic: str, code: int, message: str) -> LiveFrame:
    """The end of a topic, or the refusal of a message; the code is that of an HTTP answer."""
    members = {"topic": topic, "op": "error", "data": {"code": code, "message": message}}
    return LiveFrame(msgspec.json.encode(members))


def _head(length: int) -> bytes:
    if length < 126:
        return struct.pack("!BB", 0x81, length)
    if length < 65_536:
        return struct.pack("!BBH", 0x81, 126, length)
    return struct.pack("!BBQ", 0x81, 127, length)
