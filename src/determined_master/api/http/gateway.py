"""Routes of `/api/v1`: request to message, message to answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from determined_master.api.http.access import find_foreign
from determined_master.api.http.bodies import Bodies
from determined_master.api.http.errors import gateway_body, status_of, stream_body
from determined_master.api.http.exchange import (
    GZIP_FROM_BYTES,
    SECURITY_HEADERS,
    Http,
    Receive,
    Send,
    compress,
    send_body,
    while_connected,
    with_added,
)
from determined_master.api.http.protojson import (
    PathParameter,
    check_marks,
    decode,
    decode_at_once,
    decode_field,
    encode,
    read_query,
)
from determined_master.api.http.reauthorization import Reauthorization
from determined_master.api.http.routes import Route
from determined_master.api.upstream.connection import Header
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import DetError, NotFound, PermissionDenied
from determined_master.ports import answer_memory
from determined_master.server.whole_answers import FixedHeaders
from determined_wire.proto import Endpoint, Message

THREAD_FROM_BYTES = 256 * 1024
"""Bodies from this size on are decoded outside the event loop."""
WALK_THREAD_FROM_BYTES = 128 * 1024
"""The same for bodies that are not written as well-kept clients write them."""

SUBMISSION_BYTES = 16 * 1024
"""The configuration of a smaller one is read in a fifth of a second."""

PRETTY_TO_BYTES = 4 * 1024 * 1024
"""A larger response is not indented: nobody reads it, and all others would wait."""

HEADERS = FixedHeaders(
    [
        (b"content-type", b"application/json"),
        (b"vary", b"Accept-Encoding"),
        *SECURITY_HEADERS,
    ]
)
OK_HEADERS = FixedHeaders([*HEADERS, (b"grpc-metadata-content-type", b"application/grpc")])
ZIPPED_HEADERS = FixedHeaders([*OK_HEADERS, (b"content-encoding", b"gzip")])


class GatewayRoute:
    """A served route with everything about it that can be known before a request."""

    def __init__(self, route: Route, endpoint: Endpoint | None) -> None:
        if route.request is None:
            raise ValueError(f"{route.method} {route.path} has no request message")
        names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
        self.route = route
        self.is_open = route.is_public
        self._request = route.request
        self._parameters = [PathParameter(route.request, name) for name in names]
        self._body = route.body if endpoint is None else endpoint.body
        self._rule = route.task

    def is_costly(self, http: Http) -> bool:
        """Whether the requests of a user to this route wait for each other, by their size.

        Others never do: a request of `all_gather` waits itself until those of its peers come.
        """
        if not (self.route.is_submission or self.route.has_large_body) or not http.user_id:
            return False
        least = SUBMISSION_BYTES if self.route.is_submission else THREAD_FROM_BYTES
        return http.content_length < 0 or http.content_length >= least

    async def read(
        self,
        http: Http,
        values: tuple[str, ...],
        receive: Receive,
        bodies: Bodies,
        threads: Executor,
    ) -> Message:
        """Build the request from path, query and body; the path wins over the body.

        Raises:
            InvalidArgument: a part of it cannot be read, or it has too many values.
            TooLarge, ResourceExhausted, Unavailable: as `Bodies.read`.
        """
        body = b""
        if self._body:
            body = await bodies.read(receive, http, is_large=self.route.has_large_body)
        message = self._decode_at_once(body) if len(body) < THREAD_FROM_BYTES else None
        if message is None:
            loop = asyncio.get_running_loop()
            message = await loop.run_in_executor(threads, self._decode_large, body)
        if self._body != "*" and http.query:
            pairs = parse_qsl(http.query.replace("%00", "%EF%BF%BD"), keep_blank_values=True)
            for name, value in read_query(self._request, pairs).items():
                if name != self._body:
                    msgspec.structs.force_setattr(message, name, value)
        for parameter, value in zip(self._parameters, values, strict=True):
            parameter.put(message, value)
        return message

    def check_scope(self, caller: Caller, request: Message) -> None:
        """Hold a task to its own.

        Raises:
            PermissionDenied: the route is none that tasks call.
            NotFound: it is, but the request names another task's thing.
        """
        if caller.scope is None:
            return
        if self._rule is None:
            raise PermissionDenied(
                f"the token of task {caller.scope.task_id} is good for its own task's routes only"
            )
        foreign = find_foreign(self._rule, caller.scope, request)
        if foreign is not None:
            raise NotFound(f"{foreign[0]} '{foreign[1]}' not found")

    def _decode_at_once(self, body: bytes) -> Message | None:
        """The message, unless to take the body apart would hold all others up."""
        if len(body) < WALK_THREAD_FROM_BYTES:
            return self._decode(body)
        return decode_at_once(self._request, body) if self._body in ("", "*") else None

    def _decode_large(self, body: bytes) -> Message:
        check_marks(body)
        return self._decode(body)

    def _decode(self, body: bytes) -> Message:
        if self._body in ("", "*"):
            return decode(self._request, body)
        return decode_field(self._request, self._body, body)


async def send_message(send: Send, http: Http, message: Message, threads: Executor) -> None:
    """Answer with one message."""
    body = encode(message)
    answer_memory.hold(len(body))
    headers = OK_HEADERS
    if http.wants_pretty and len(body) <= PRETTY_TO_BYTES:
        body = msgspec.json.format(body, indent=4)
    if http.accepts_gzip and len(body) >= GZIP_FROM_BYTES:
        body = await compress(body, threads)
        headers = ZIPPED_HEADERS
    await send_body(send, 200, with_added(headers, http.set_headers), body)


async def send_error(send: Send, error: DetError, added: Sequence[Header] = ()) -> None:
    """Answer with an error, of a stream's parameters too; `added` are further headers.

    The connection stays, and the server throws away what still comes of a body that is too
    large: most clients send all before they read, and would see a reset in place of the answer.
    """
    await send_body(send, status_of(error), with_added(HEADERS, added), gateway_body(error))


async def stream_messages(
    send: Send,
    receive: Receive,
    messages: AsyncGenerator[Any],
    reauthorization: Reauthorization,
    *,
    unexpected: Callable[[Exception], DetError],
    is_pretty: bool,
) -> None:
    """Answer with the messages of a generator until it ends, or the client goes or has to.

    An error ends the stream and is reported in it: the status has been sent. `unexpected` makes
    one of any exception.
    """
    stream = _Stream(send, is_pretty=is_pretty)
    try:
        await while_connected(receive, stream.run(messages), reauthorization)
    except DetError as error:
        await stream.fail(error)
    except Exception as error:
        await stream.fail(unexpected(error))
    finally:
        await messages.aclose()


class _Stream:
    """An answer whose head goes with the first message."""

    def __init__(self, send: Send, *, is_pretty: bool) -> None:
        self._send = send
        self._is_pretty = is_pretty
        self._has_begun = False

    async def run(self, messages: AsyncIterator[Any]) -> None:
        """Send each message as it comes. Raises DetError: theirs."""
        async for item in messages:
            await self._begin(200, OK_HEADERS)
            frames = (_frame(m, self._is_pretty) for m in _several(item))
            await self._send(_piece(b"".join(frames)))
        await self._begin(200, HEADERS)
        await self._end()

    async def fail(self, error: DetError) -> None:
        """End it with an error."""
        await self._begin(status_of(error), HEADERS)
        await self._send(_piece(stream_body(error)))
        await self._end()

    async def _begin(self, status: int, headers: tuple[Header, ...]) -> None:
        if not self._has_begun:
            self._has_begun = True
            head = {"type": "http.response.start", "status": status, "headers": list(headers)}
            await self._send(head)

    async def _end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})


def _several(item: Any) -> Any:
    return item if isinstance(item, list | tuple) else (item,)


def _frame(message: Message, is_pretty: bool) -> bytes:
    text = b'{"result":' + encode(message) + b"}"
    return (msgspec.json.format(text, indent=4) if is_pretty else text) + b"\n"


def _piece(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}
