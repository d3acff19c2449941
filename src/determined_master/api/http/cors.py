"""Calls by web pages of other origins (CORS), where the setting `enable_cors` allows them.

Any origin may then read answers, but without the cookie of a login: browsers send it, being
`SameSite=Lax`, to requests of pages of the same site alone.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from determined_master.api.http.exchange import SECURITY_HEADERS, Asgi, Receive, Scope, Send
from determined_master.api.upstream.connection import Header

METHODS = b"GET,HEAD,PUT,PATCH,POST,DELETE"
SERVICES = b"/proxy/"


class Cors:
    """The master's HTTP side, for pages of all origins.

    Services of tasks answer for themselves: two answers to one question are refused by browsers.
    """

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI 3 has it."""
        if scope["type"] != "http" or scope["raw_path"].startswith(SERVICES):
            await self._app(scope, receive, send)
            return
        sent = dict(scope["headers"])
        origin = sent.get(b"origin")
        if not origin:
            await self._app(scope, receive, send)
            return
        allowed: tuple[Header, ...] = (
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-credentials", b"true"),
            (b"vary", b"Origin"),
        )
        if scope["method"] == "OPTIONS":
            await _allow(send, allowed, sent.get(b"access-control-request-headers", b""))
            return

        async def send_allowed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *allowed]}
            await send(message)

        await self._app(scope, receive, send_allowed)


async def _allow(send: Send, allowed: tuple[Header, ...], asked_headers: bytes) -> None:
    """Methods and headers that a page may use; each request still needs its own credentials."""
    headers = [*SECURITY_HEADERS, *allowed, (b"access-control-allow-methods", METHODS)]
    if asked_headers:
        headers.append((b"access-control-allow-headers", asked_headers))
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
