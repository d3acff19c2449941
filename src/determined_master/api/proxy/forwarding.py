"""One HTTP request, carried to a service while it comes, and the answer back while it comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Collection, Coroutine, MutableMapping
from typing import Any

import msgspec

from determined_master.api.http.exchange import Http, Receive, Send
from determined_master.api.http.reauthorization import Reauthorization
from determined_master.api.proxy import heads
from determined_master.api.proxy.answer_heads import sent_back
from determined_master.api.upstream.connection import Forward, Header, Upstream, dial
from determined_master.api.upstream.idle_connections import IdleConnections
from determined_master.domain.errors import BadGateway, DetError
from determined_master.services.tasks.proxies import ServiceTarget

log = logging.getLogger(__name__)

SANDBOX: Header = (
    b"content-security-policy",
    b"sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts",
)
"""Without `allow-same-origin`: the page's scripts run, but no request of theirs has a cookie."""


class Errand(msgspec.Struct, frozen=True):
    """An authenticated request, and its destination."""

    http: Http
    target: ServiceTarget
    context: ssl.SSLContext | None
    """For a service that speaks TLS."""
    forward: Forward
    """Connects with services whose addresses cannot be reached."""
    ending: asyncio.Future[None]
    """Done when the service's allocation has ended."""
    reauthorization: Reauthorization
    """Of its caller."""
    idle: IdleConnections
    spent: Collection[str] = ()
    """The master's own tokens in the request: no service sees them."""
    key: str = ""
    """The credential that the service accepts from the master alone."""
    framed_by: str = ""
    """The master's origin, if the service has another one."""
    is_sandboxed: bool = True
    """Whether the page must not act at the origin at which it is opened."""


async def forward(errand: Errand, receive: Receive, send: Send) -> None:
    """Carry one request, and its answer, until either side goes away.

    Raises:
        BadGateway: the service does not answer, and nothing was sent to the client yet.
    """
    client = Client(send)
    upstream = errand.idle.take(errand.target) if _is_repeatable(errand.http) else None
    if upstream is not None:
        try:
            await _exchange(errand, upstream, receive, client)
            return
        except BadGateway:
            if errand.ending.done():
                raise
            # The service closed it in the moment in which it was used: once more on a new one.
    await _exchange(
        errand, await dial(errand.target, errand.context, errand.forward), receive, client
    )


async def _exchange(errand: Errand, upstream: Upstream, receive: Receive, client: Client) -> None:
    """Carry a request and its answer over a connection; keep it, or close it.

    Raises:
        BadGateway: the service does not answer, and nothing was sent to the client yet.
    """
    sent = asyncio.Event()
    is_kept = False
    try:
        uploading = _upload(errand, receive, upstream, sent)
        await while_both(errand, uploading, _answer(errand, upstream, client))
        if sent.is_set() and upstream.is_reusable:
            errand.idle.put(errand.target, upstream, errand.ending)
            is_kept = True
    except ClientLeft:
        pass
    except DetError:
        if not client.is_answered:
            raise
    finally:
        if not is_kept:
            await upstream.close()


def _is_repeatable(http: Http) -> bool:
    """Whether a request may be sent twice: asked over a connection that may be closing."""
    has_body = http.content_length > 0 or http.is_chunked
    return http.method in ("GET", "OPTIONS") and not has_body


class Client:
    """Where the answer goes; knows whether there is one yet."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_answered = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        """Send a message, as ASGI has it."""
        self.is_answered = True
        await self._send(message)


class ClientLeft(Exception):
    """The client has disconnected: nobody waits for the response."""


async def while_both(
    errand: Errand, leaving: Coroutine[Any, Any, None], work: Coroutine[Any, Any, None]
) -> None:
    """Work until it is done, the client disconnects or loses access, or the allocation ends.

    Raises:
        ClientLeft: `leaving` was done first.
        BadGateway: the allocation ended first.
        DetError: the client is not welcome any more.
    """
    tasks = [asyncio.create_task(leaving), asyncio.create_task(work)]
    try:
        await errand.reauthorization.first_of([*tasks, errand.ending])
        if tasks[1].done():
            return tasks[1].result()
        if tasks[0].done():
            tasks[0].result()
            raise ClientLeft
        raise BadGateway(f"{errand.target.where} has ended")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def head_of(errand: Errand, more: tuple[Header, ...]) -> bytes:
    """Request line and headers as the service is sent them; `more` are the connection's own."""
    http, target = errand.http, errand.target
    headers = heads.passed_on(http.headers, errand.spent)
    headers = heads.with_origin(headers, http.client, "https" if http.is_secure else "http")
    if target.port.is_tls:
        own = f"{target.host}:{target.host_port}".encode()
        headers = [(n, own if n == b"host" else v) for n, v in headers]
    elif not any(n == b"host" for n, _ in headers):
        headers.append((b"host", f"{target.host}:{target.host_port}".encode()))
    if errand.key:
        headers.append((heads.SERVICE_KEY, errand.key.encode()))
    query = heads.without_tokens(http.raw_query, errand.spent)
    path = http.raw_path + (b"?" + query if query else b"")
    lines = [b"%s %s HTTP/1.1" % (http.method.encode(), path)]
    lines += [b"%s: %s" % header for header in (*headers, *more)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def path_of(errand: Errand) -> bytes:
    """Where the service lies on the master, as the client names it."""
    return b"/".join(errand.http.raw_path.split(b"/", 3)[:3]) + b"/"


async def pass_back(
    errand: Errand, upstream: Upstream, send: Send, status: int, headers: list[Header]
) -> None:
    """Carry an answer to the client, as fast as it takes it."""
    if errand.is_sandboxed:
        headers = [*headers, SANDBOX]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    try:
        async for piece in upstream.body():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except OSError as error:
        # Without its end the client sees that the body is not whole.
        service = errand.target.service_id
        log.info("an answer broke off", extra={"service": service, "error": str(error)})
        return
    await send({"type": "http.response.body", "body": b""})


async def _answer(errand: Errand, upstream: Upstream, send: Send) -> None:
    status, headers = await upstream.read_head(errand.http.method)
    if status == 101:
        raise BadGateway(f"{errand.target.where} changed to another protocol unasked")
    await pass_back(
        errand, upstream, send, status, sent_back(headers, path_of(errand), errand.framed_by)
    )


async def _upload(
    errand: Errand, receive: Receive, upstream: Upstream, sent: asyncio.Event
) -> None:
    """Send the request as it arrives, report that, then wait until the client disconnects."""
    http = errand.http
    with contextlib.suppress(OSError):  # the service may have answered without reading it all
        if http.is_chunked:
            await upstream.send(head_of(errand, ((b"transfer-encoding", b"chunked"),)))
            await _send_chunks(receive, upstream)
        else:
            await upstream.send(head_of(errand, ()))
            if http.content_length > 0:
                await _send_plain(receive, upstream)
        sent.set()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_plain(receive: Receive, upstream: Upstream) -> None:
    while True:
        message = await _next(receive)
        if message.get("body"):
            await upstream.send(message["body"])
        if not message.get("more_body"):
            return


async def _send_chunks(receive: Receive, upstream: Upstream) -> None:
    while True:
        message = await _next(receive)
        if piece := message.get("body", b""):
            await upstream.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        if not message.get("more_body"):
            await upstream.send(b"0\r\n\r\n")
            return


async def _next(receive: Receive) -> Any:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientLeft
    return message
