"""What one turn of the loop writes goes out together, in order, and nothing is lost."""

from __future__ import annotations

import asyncio

from determined_master.server.write_coalescing import FLUSH_FROM_BYTES, CoalescingTransport


class Wire:
    """Takes what a transport is given."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def writelines(self, pieces: list[bytes]) -> None:
        self.sent.append(b"".join(pieces))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def corked(wire: Wire) -> CoalescingTransport:
    return CoalescingTransport(wire, asyncio.get_running_loop())  # type: ignore[arg-type]  # all that it needs


async def test_pieces_of_one_turn_are_sent_at_once_at_its_end() -> None:
    wire = Wire()
    transport = corked(wire)
    transport.write(b"head")
    transport.write(b"")
    transport.writelines([b"bo", b"dy"])
    assert wire.sent == []
    await asyncio.sleep(0)
    assert wire.sent == [b"headbody"]
    await asyncio.sleep(0)
    assert wire.sent == [b"headbody"]


async def test_much_is_not_held_back() -> None:
    wire = Wire()
    transport = corked(wire)
    transport.write(b"x" * FLUSH_FROM_BYTES)
    assert len(wire.sent) == 1
    transport.write(b"tail")
    await asyncio.sleep(0)
    assert wire.sent[1:] == [b"tail"]


async def test_closing_sends_what_is_held_back_first() -> None:
    wire = Wire()
    transport = corked(wire)
    transport.write(b"last words")
    transport.close()
    assert (wire.sent, wire.closed) == ([b"last words"], True)
    transport.write(b"too late")
    await asyncio.sleep(0)
    assert wire.sent == [b"last words"]
