"""Errors of the ASGI application: unknown paths and methods, and refusals of plain routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from determined_master.api.http import gateway, plain
from determined_master.api.http.errors import plain_body, route_body, status_of
from determined_master.api.http.exchange import (
    SECURITY_HEADERS,
    Http,
    Scope,
    Send,
    send_body,
    with_added,
)
from determined_master.api.http.matching import Match
from determined_master.api.http.middleware import (
    InactiveUser,
)
from determined_master.api.targets import Target
from determined_master.api.upstream.connection import Header
from determined_master.domain.errors import (
    DetError,
    Unauthenticated,
)
from determined_master.services.failures import error_of


def plain_status(error: DetError) -> tuple[int, str]:
    """Status and text of an error outside `/api/v1`, where two of them have other texts."""
    match error:
        case Unauthenticated():
            return 401, "Unauthorized"
        case InactiveUser():
            return 403, "user not active"
        case _:
            return status_of(error), error.text


async def redirect(send: Send, location: str, cookie: bytes | None = None) -> None:
    headers = [*SECURITY_HEADERS, (b"location", location.encode("latin-1"))]
    if cookie is not None:
        headers.append((b"set-cookie", cookie))
    await send_body(send, 303, headers, b"")


async def send_plain(send: Send, error: DetError, added: Sequence[Header]) -> None:
    await plain.send_text_error(send, *plain_status(error), added)


async def refuse_gateway(send: Send, http: Http, match: Match[Target] | None) -> None:
    """No such path, or no such method of a path that there is."""
    form = http.header("content-type").startswith("application/x-www-form-urlencoded")
    if match is None:
        status, reason, text = 404, "NotFound", f"no such route: {http.method} {http.path}"
    elif form and http.method == "POST":
        status, reason, text = 415, "Unimplemented", "send GET with its query in the address"
    else:
        status, reason, text = 405, "Unimplemented", f"{http.path} does not take {http.method}"
    allowed = [] if match is None else [(b"allow", ", ".join(sorted(match.targets)).encode())]
    headers = with_added(gateway.HEADERS, allowed)
    code = 5 if status == 404 else 12
    body = route_body(code, reason, text)
    await send_body(send, status, headers, b"" if http.method == "HEAD" else body)


async def refuse_socket(scope: Scope, send: Send, status: int, text: str) -> None:
    """Answer the handshake with an error, where the server can, else close it."""
    if "websocket.http.response" in scope.get("extensions", {}):
        headers: list[Any] = [*plain.HEADERS]
        body = plain_body(text)
        await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": body})
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": text})


def unexpected(http: Http, error: Exception) -> DetError:
    """Log an exception and build the error for its client."""
    return error_of(error, method=http.method, path=http.path)
