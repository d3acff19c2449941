"""Closes TLS connections when the server stops, without the client's confirmation.

TLS ends with a close message of each side, and the loop waits half a minute for the client's. An
idle client sends nothing, so a stopping master would wait as long as it waits for requests.
"""

from __future__ import annotations

import asyncio
import fcntl
import struct
import termios

LOOK_S = 0.05
"""Between two checks. The loop passes its bytes to the system after the system has sent its own:
when the system has nothing unsent, the loop has nothing left either."""


def close_when_sent(transport: asyncio.Transport) -> None:
    """Close a TLS connection that is being closed, once all written bytes are sent.

    Where the system does not report what was sent, the client's acknowledgement is awaited.
    """
    asyncio.get_running_loop().call_later(LOOK_S, _look, transport)


def _look(transport: asyncio.Transport) -> None:
    unsent = _unsent_bytes(transport)
    if unsent == 0:
        transport.abort()
    elif unsent is not None:
        close_when_sent(transport)


def _unsent_bytes(transport: asyncio.Transport) -> int | None:
    """Bytes that the other side has not received yet; None for a closed socket."""
    socket = transport.get_extra_info("socket")
    try:
        answer = fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, ValueError, AttributeError):
        return None
    return int(struct.unpack("i", answer)[0])
