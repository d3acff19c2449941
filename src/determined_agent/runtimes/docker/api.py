"""A client for the parts of Docker's API that tasks need; also for Podman's service.

Each request opens a connection of its own: a local socket opens in 0.1 ms, and a daemon that
hangs in one answer delays no other. Every answer has a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

OLDEST = (1, 40)
"""The version of Docker 19.03."""
NEWEST = (1, 47)
"""The version that this client is written for; it uses it with newer daemons too."""
ANSWER_S = 60.0

_HEAD_BYTES = 256 * 1024
_READ_BYTES = 256 * 1024


class DockerUnreachable(Exception):
    """The daemon cannot be reached, hangs or disconnects; the text names address and remedy."""


class DockerApiError(Exception):
    """The daemon has answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Request(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: Mapping[str, Any] = {}
    """True and False are sent as 1 and 0, maps and lists as JSON; None is left out."""
    body: Any = None
    """Sent as JSON; bytes are a tar archive."""
    headers: Mapping[str, str] = {}
    within_s: float = 0.0
    """Timeout for the head of the answer, and for the whole body of a `call`; 0 for the client's
    default."""


class DockerApi:
    """The API of the daemon at an address: `unix:///path` or `tcp://host:port`."""

    def __init__(self, address: str, answer_s: float = ANSWER_S) -> None:
        """
        Args:
            address: where the daemon listens.
            answer_s: timeout of an answer.

        Raises:
            ValueError: an address of another kind.
        """
        self.address = address
        self._daemon = "Podman's service" if "podman" in address else "the Docker daemon"
        self._answer_s = answer_s
        parts = urlsplit(address)
        if parts.scheme == "unix" and parts.path:
            self._path, self._host, self._port = parts.path, "", 0
        elif parts.scheme == "tcp" and parts.hostname:
            self._path, self._host, self._port = "", parts.hostname, parts.port or 2375
        else:
            raise ValueError(
                f"docker_host '{address}' is neither unix:///PATH nor tcp://HOST:PORT: set it to "
                "the daemon's socket"
            )
        self._prefix = ""
        self._negotiating = asyncio.Lock()

    async def call(self, request: Request) -> Any:
        """Make a call; return the JSON of the answer, None if that is empty.

        Raises:
            DockerUnreachable: no answer in time.
            DockerApiError: the answer is an error.
        """
        await self._negotiate()
        return await self._call(request, self._prefix)

    @contextlib.asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        """Make a call with a streamed answer; yield the pieces of its body.

        Raises:
            DockerUnreachable: no head in time, or the connection was lost.
            DockerApiError: the answer is an error.
        """
        await self._negotiate()
        async with self._exchange(request, self._prefix) as answer:
            yield answer.pieces()

    async def negotiate(self, within_s: float = 0.0) -> dict[str, Any]:
        """Read the daemon's version, and choose the version of the API.

        Raises:
            DockerUnreachable: it does not answer, or supports no version that this client does.
        """
        ask = Request(method="GET", path="/version", within_s=within_s)
        try:
            info: dict[str, Any] = await self._call(ask, "") or {}
        except DockerApiError as error:
            raise DockerUnreachable(
                self._unusable_text(f"refused GET /version: {error}")
            ) from error
        theirs = _version(str(info.get("ApiVersion", "")))
        least = _version(str(info.get("MinAPIVersion") or "1.0"))
        if theirs < OLDEST or least > NEWEST:
            raise DockerUnreachable(
                f"{self.address} supports versions {_dotted(least)} to {_dotted(theirs)} of "
                f"Docker's API, this agent {_dotted(OLDEST)} to {_dotted(NEWEST)}: install a "
                "newer version of the older one"
            )
        self._prefix = f"/v{_dotted(min(theirs, NEWEST))}"
        return info

    async def _negotiate(self) -> None:
        if not self._prefix:
            async with self._negotiating:
                if not self._prefix:
                    await self.negotiate()

    async def _call(self, request: Request, prefix: str) -> Any:
        async with self._exchange(request, prefix) as answer:
            try:
                async with asyncio.timeout(self._bound_s(request)):
                    body = b"".join([piece async for piece in answer.pieces()])
            except TimeoutError as error:
                raise DockerUnreachable(self._timeout_text(request)) from error
        if not body.strip():
            return None
        try:
            return json.loads(body)
        except ValueError:
            return body.decode(errors="replace")

    @contextlib.asynccontextmanager
    async def _exchange(self, request: Request, prefix: str) -> AsyncIterator[_Answer]:
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(self._bound_s(request)):
                reader, writer = await self._open()
                writer.write(_head(request, prefix))
                writer.write(_body(request))
                await writer.drain()
                answer = _Answer(reader, *await _read_head(reader), self._unusable_text)
        except TimeoutError as error:
            _close(writer)
            raise DockerUnreachable(self._timeout_text(request)) from error
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            _close(writer)
            raise DockerUnreachable(self._unusable_text(_reason(error))) from error
        except BaseException:
            _close(writer)
            raise
        try:
            if answer.status >= 400:
                async with asyncio.timeout(self._bound_s(request)):
                    raise await answer.refusal()
            yield answer
        finally:
            _close(writer)

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._path:
            return await asyncio.open_unix_connection(self._path, limit=_HEAD_BYTES)
        return await asyncio.open_connection(self._host, self._port, limit=_HEAD_BYTES)

    def _bound_s(self, request: Request) -> float:
        return request.within_s or self._answer_s

    def _unusable_text(self, reason: str) -> str:
        return (
            f"{self._daemon} at {self.address} {reason}: check that it runs, that the agent may "
            "use its socket, and that `docker_host` names it"
        )

    def _timeout_text(self, request: Request) -> str:
        return (
            f"{self._daemon} at {self.address} did not answer {request.method} {request.path} "
            f"in {self._bound_s(request):g} s: it hangs or is overloaded, see its log, restart it"
        )


class _Answer:
    """The head of an answer, and its streamed body."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        status: int,
        headers: dict[str, str],
        unusable_text: Any,
    ) -> None:
        self.status = status
        self._reader = reader
        self._headers = headers
        self._unusable_text = unusable_text

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the body. Raises DockerUnreachable if the connection is lost."""
        try:
            if self._headers.get("transfer-encoding", "").lower() == "chunked":
                async for piece in self._chunks():
                    yield piece
            elif "content-length" in self._headers:
                yield await self._reader.readexactly(int(self._headers["content-length"]))
            elif self.status not in (204, 304):
                while piece := await self._reader.read(_READ_BYTES):
                    yield piece
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            raise DockerUnreachable(self._unusable_text(_reason(error))) from error

    async def refusal(self) -> DockerApiError:
        body = b"".join([piece async for piece in self.pieces()])
        try:
            message = str(json.loads(body)["message"])
        except (ValueError, KeyError, TypeError):
            message = body.decode(errors="replace").strip() or f"status {self.status}"
        return DockerApiError(self.status, message)

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            bytes_left = int((await self._reader.readuntil(b"\r\n")).partition(b";")[0], 16)
            if bytes_left == 0:
                return
            while bytes_left:
                piece = await self._reader.read(min(bytes_left, _READ_BYTES))
                if not piece:
                    raise asyncio.IncompleteReadError(b"", bytes_left)
                bytes_left -= len(piece)
                yield piece
            await self._reader.readexactly(2)


def _head(request: Request, prefix: str) -> bytes:
    query = urlencode({k: _text(v) for k, v in request.query.items() if v is not None})
    target = prefix + quote(request.path, safe="/:@") + (f"?{query}" if query else "")
    body = _body(request)
    kind = "application/x-tar" if isinstance(request.body, bytes) else "application/json"
    headers = {
        "Host": "docker",
        "Connection": "close",
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        **request.headers,
    }
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _body(request: Request) -> bytes:
    if request.body is None:
        return b""
    return request.body if isinstance(request.body, bytes) else json.dumps(request.body).encode()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        words = head[0].split(" ", 2)
        if len(words) < 2 or not words[1].isdigit():
            raise OSError(f"sent '{head[0][:80]}', which is not HTTP")
        if int(words[1]) >= 200:
            break
    pairs = (line.partition(":") for line in head[1:] if line)
    return int(words[1]), {name.lower(): value.strip() for name, _, value in pairs}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _close(writer: asyncio.StreamWriter | None) -> None:
    if writer is not None:
        writer.transport.abort()


def _reason(error: Exception) -> str:
    if isinstance(error, (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)):
        return "disconnected in the middle of an answer"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be reached ({error.strerror})"
    return f"cannot be reached ({error})"


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
