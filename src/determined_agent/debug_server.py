"""A small HTTP server for debugging: whether the agent is connected, and its stacks.

It is read-only, and shows names of functions but no values.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import ssl
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from determined_agent.settings.options import Settings

MAX_HEAD_BYTES = 16 * 1024
_REQUEST_S = 10.0
_PATHS = "this agent serves /health and /debug/stacks\n"

Health = Callable[[], Mapping[str, object]]


class ListenError(Exception):
    """The server cannot start; the text names the remedy."""


@contextlib.asynccontextmanager
async def debug_server(settings: Settings, health: Health) -> AsyncIterator[None]:
    """Serve while the block runs, if the settings enable it.

    Raises:
        ListenError: the port is in use, or a file of the certificate cannot be used.
    """
    if not settings.api_enabled:
        yield
        return
    address = f"{settings.bind_ip}:{settings.bind_port}"
    try:
        context = _context(settings) if settings.tls else None
    except OSError as error:  # ssl's errors are of this kind
        raise ListenError(
            f"tls_cert {settings.tls_cert} and tls_key {settings.tls_key} cannot be used: "
            f"{error}; name a certificate and its key, not encrypted, in PEM form"
        ) from error

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _answer(reader, writer, health)

    try:
        server = await asyncio.start_server(
            answer, settings.bind_ip, settings.bind_port, ssl=context, limit=MAX_HEAD_BYTES
        )
    except OSError as error:
        raise ListenError(
            f"api_enabled: cannot listen on {address}: {error.strerror}; choose another `bind_ip` "
            "or `bind_port`"
        ) from error
    async with server:
        yield


def _context(settings: Settings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(settings.tls_cert, settings.tls_key, password=lambda: "")
    return context


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, health: Health
) -> None:
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
        method = ""
        async with asyncio.timeout(_REQUEST_S):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                status, text = _page(method, target.partition("?")[0], health)
            except (asyncio.LimitOverrunError, ValueError):
                status, text = HTTPStatus.BAD_REQUEST, "this is not an HTTP request\n"
            kind = "application/json" if text.startswith("{") else "text/plain; charset=utf-8"
            body = text.encode()
            writer.write(
                f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + (b"" if method == "HEAD" else body)
            )
            await writer.drain()
    writer.close()


def _page(method: str, path: str, health: Health) -> tuple[HTTPStatus, str]:
    if method not in ("GET", "HEAD"):
        return HTTPStatus.METHOD_NOT_ALLOWED, "only GET is served\n"
    if path == "/health":
        return HTTPStatus.OK, json.dumps(dict(health())) + "\n"
    if path == "/debug/stacks":
        return HTTPStatus.OK, stacks()
    return HTTPStatus.NOT_FOUND, _PATHS


def stacks() -> str:
    """Return the stacks of all tasks and threads of this process."""
    text = io.StringIO()
    for task in sorted(asyncio.all_tasks(), key=lambda t: t.get_name()):
        text.write("\n".join([f"task {task.get_name()}", *_await_chain(task.get_coro()), "\n"]))
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        text.write(f"thread {names.get(ident, ident)}\n")
        text.write("".join(traceback.format_stack(frame)))
        text.write("\n")
    return text.getvalue()


def _await_chain(waiting: Any) -> Iterator[str]:
    """Yield the position of a coroutine, and of each one that it awaits in turn."""
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
        if frame is not None:
            code = frame.f_code
            yield f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_qualname}'
        following = getattr(waiting, "cr_await", None)
        waiting = following or getattr(waiting, "gi_yieldfrom", None)
