"""Complete answers in one piece, past uvicorn's two messages a response.

uvicorn checks and joins each header of each response again. Most answers of the API have the same
headers: they are checked and joined once. That is a fifth of the master's time for a small answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

WHOLE_TO_BYTES = 64 * 1024
"""To join a larger body with its head costs more than a second write."""


class FixedHeaders(tuple[tuple[bytes, bytes], ...]):
    """Headers that many answers share; they must not depend on a request."""

    lines: bytes
    """As they are sent, each with its line end."""

    def __new__(cls, headers: Iterable[tuple[bytes, bytes]]) -> FixedHeaders:
        fixed = super().__new__(cls, headers)
        for name, value in fixed:
            if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
                raise ValueError(f"header {name!r}: {value!r} has characters that end a line")
        fixed.lines = b"".join(b"%s: %s\r\n" % header for header in fixed)
        return fixed


def send_whole(send: Any, status: int, headers: FixedHeaders, body: bytes) -> bool:
    """Send an answer if that takes one write; whether it was sent.

    It is not sent where the connection has to be closed or waited for, and where `send` is not
    uvicorn's own: then the two messages of ASGI do it.
    """
    cycle = getattr(send, "__self__", None)
    if (
        type(cycle) is not RequestResponseCycle
        or len(body) > WHOLE_TO_BYTES
        or not cycle.keep_alive
        or cycle.response_started
        or cycle.disconnected
        or cycle.flow.write_paused
        or cycle.scope["method"] == "HEAD"
    ):
        return False
    cycle.response_started = True
    cycle.waiting_for_100_continue = False
    own = b"".join([b"%s: %s\r\n" % header for header in cycle.default_headers])
    length = b"content-length: %d\r\n\r\n" % len(body)
    cycle.transport.write(b"".join((STATUS_LINE[status], own, headers.lines, length, body)))
    cycle.response_complete = True
    cycle.message_event.set()
    cycle.on_response()
    return True
