"""The end of TLS connections when the server stops: their clients need not confirm it.

TLS ends with a word of either side, and the loop waits half a minute for the client's. An idle
client says nothing, so a master that stops would wait for all of the time that it gives requests.
"""

from __future__ import annotations

import asyncio
import fcntl
import struct
import termios

LOOK_S = 0.05
"""Between two looks. After the system has sent its bytes it gets those that the loop still has,
so where nothing is unsent then, nothing is held back."""


def close_when_sent(transport: asyncio.Transport) -> None:
    """Close a connection over TLS that is being closed, once all that was written is sent.

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
        told = fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, ValueError, AttributeError):
        return None
    return int(struct.unpack("i", told)[0])
