"""A small HTTP server that answers with canned bodies and records every call made to it."""

from __future__ import annotations

import dataclasses
import http.server
import json
import ssl
import threading
import urllib.parse
from collections.abc import Callable
from typing import Any

from tests.cli import canned

Answer = tuple[int, Any]
Route = Answer | Callable[["Call"], Answer]


@dataclasses.dataclass(frozen=True)
class Call:
    """One received request; `path` excludes the query."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


class FakeMaster:
    """Serves `routes`: ("GET", "/info") -> (status, body) or a function of the call.

    Answers have the headers of `sent_headers` besides their own.

    A body that is a list of dicts under a `"stream"` status tuple is sent as one JSON
    object a line, the way log streams are; bytes are sent as they are.

    Args:
        tls: what it speaks TLS with; None for plain HTTP.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.routes: dict[tuple[str, str], Route] = dict(canned.routes())
        self.sent_headers: dict[str, str] = {}
        self.calls: list[Call] = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def handle_any(self) -> None:
                owner.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()

    def made(self, method: str, path: str) -> list[Call]:
        """The calls of this method and path, in order."""
        return [c for c in self.calls if c.method == method and c.path == path]

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        split = urllib.parse.urlsplit(handler.path)
        length = int(handler.headers.get("Content-Length") or 0)
        call = Call(
            method=handler.command,
            path=split.path,
            query=urllib.parse.parse_qs(split.query),
            headers={k.lower(): v for k, v in handler.headers.items()},
            body=handler.rfile.read(length),
        )
        self.calls.append(call)
        route = self.routes.get((call.method, call.path), canned.NOT_SERVED)
        status, body = route(call) if callable(route) else route
        _send(handler, status, body, self.sent_headers)


def _send(
    handler: http.server.BaseHTTPRequestHandler, status: int, body: Any, headers: dict[str, str]
) -> None:
    data, kind = _encode(body)
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Type", kind)
    if isinstance(body, canned.Stream):
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        handler.wfile.write(b"" if body.breaks_off else b"0\r\n\r\n")
        handler.close_connection = handler.close_connection or body.breaks_off
        return
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def _encode(body: Any) -> tuple[bytes, str]:
    if isinstance(body, bytes):
        is_page = body.startswith(b"<!DOCTYPE html")
        return body, "text/html; charset=utf-8" if is_page else "application/octet-stream"
    if isinstance(body, canned.Stream):
        lines = [json.dumps({"result": message}) + "\n" for message in body.messages]
        return "".join(lines).encode(), "application/json"
    return json.dumps(body).encode(), "application/json"


def error(status: int, code: int, reason: str, text: str) -> Answer:
    """An error body of the gateway family."""
    return status, {"error": {"code": code, "reason": reason, "error": text}}
