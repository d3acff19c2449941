"""All HTTP routes outside `/api/v1`, with their own form of bodies and errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

import msgspec

from determined_master.api.http.errors import plain_body, status_of
from determined_master.api.http.exchange import (
    SECURITY_HEADERS,
    Http,
    Receive,
    Send,
    send_body,
    while_connected,
    with_added,
)
from determined_master.api.http.protojson import check_marks
from determined_master.api.http.routes import PLAIN_JSON, Call, Reply
from determined_master.api.upstream.connection import Header
from determined_master.domain.errors import DetError, InvalidArgument
from determined_master.server.whole_answers import FixedHeaders

log = logging.getLogger(__name__)
T = TypeVar("T")

THREAD_FROM_BYTES = 256 * 1024
"""Bodies from this size on are read outside the event loop."""

HEADERS = FixedHeaders([(b"content-type", PLAIN_JSON.encode()), *SECURITY_HEADERS])

PAGE_HEADERS: tuple[Header, ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'",
    ),
    (b"referrer-policy", b"same-origin"),
)
"""Of our own pages."""
NOT_MODIFIED = 304
"""Its answer has no body and no policy: the client keeps those of the page in its cache."""

_encoder = msgspec.json.Encoder()


async def plain_json(call: Call, kind: type[T]) -> T:
    """Read the body of a plain route, a large one in a thread; unknown fields are ignored.

    Raises:
        InvalidArgument: there is none, or it is not of this shape.
    """

    def read() -> T:
        if is_large:
            check_marks(call.body)
        found: T = msgspec.json.decode(call.body, type=kind, strict=False)
        return found

    is_large = len(call.body) >= THREAD_FROM_BYTES

    try:
        return await asyncio.to_thread(read) if is_large else read()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"Bad Request: {error}") from error
    except RecursionError as error:
        raise InvalidArgument("Bad Request: the body is nested too deeply") from error


async def send_answer(send: Send, receive: Receive, http: Http, answer: Any) -> None:
    """Answer with the result of a plain route: a `Reply`, or any JSON value."""
    if not isinstance(answer, Reply):
        body = _encoder.encode(answer) + b"\n"
        await send_body(send, 200, with_added(HEADERS, http.set_headers), body)
        return
    headers = [
        (b"content-type", answer.content_type.encode()),
        *SECURITY_HEADERS,
        *_own_headers(answer),
        *http.set_headers,
    ]
    if answer.status == NOT_MODIFIED:
        await send({"type": "http.response.start", "status": NOT_MODIFIED, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
    elif isinstance(answer.body, bytes):
        headers.append((b"content-length", b"%d" % len(answer.body)))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        body = b"" if http.method == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})
    else:
        try:
            await while_connected(receive, _send_pieces(send, answer.status, headers, answer.body))
        finally:
            await answer.body.aclose()


async def send_error(send: Send, error: DetError) -> None:
    """Answer with an error."""
    await send_text_error(send, status_of(error), error.text)


async def send_text_error(
    send: Send, status: int, text: str, added: Sequence[Header] = ()
) -> None:
    """Answer with an error that has no class of its own."""
    await send_body(send, status, with_added(HEADERS, added), plain_body(text))


def _own_headers(answer: Reply) -> list[Header]:
    """The answer's headers, on pages also those of `PAGE_HEADERS` that it does not set.

    Browsers enforce every policy that they get: a page with its own must not get a second one.
    """
    own = [(name.encode(), value.encode()) for name, value in answer.headers]
    is_page = answer.content_type.startswith("text/html") and answer.status != NOT_MODIFIED
    names = {name for name, _ in own}
    added = [header for header in PAGE_HEADERS if header[0] not in names] if is_page else []
    return [*added, *own]


async def _send_pieces(
    send: Send, status: int, headers: list[Header], pieces: AsyncIterator[bytes]
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    try:
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except OSError:
        # Without its last chunk the client sees that the body is not whole.
        log.exception("an answer broke off")
        return
    await send({"type": "http.response.body", "body": b""})
