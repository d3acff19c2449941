"""Frames that are encoded by hand, as a client of RFC 6455 reads them."""

from __future__ import annotations

import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.uri import parse_uri

from determined_master.services.updates.live.frames import LiveFrame


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_a_client_reads_the_payload_of_a_frame(size: int) -> None:
    client = ClientProtocol(parse_uri("ws://m/"), state=OPEN, max_size=None)
    payload = b"x" * size
    client.receive_data(LiveFrame(payload).framed * 2)
    received = [event for event in client.events_received() if isinstance(event, Frame)]
    assert [(f.opcode, bytes(f.data), f.fin) for f in received] == [
        (Opcode.TEXT, payload, True)
    ] * 2
