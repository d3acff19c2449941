"""A minimal HTTP/1.1 client connection; standard library only.

Importing `http.client` takes 35 ms, mostly for the mail parser of headers, and urllib3 90 ms. A
task imports this module twice (entry chain, user's program), every CLI command once. The import
would be a quarter of the time from submission to user code.
"""

from __future__ import annotations

import socket
from typing import Any, BinaryIO, Callable, Dict, Iterator, Mapping, Optional

from determined.common.api.errors import InvalidRequestException

MAX_LINE_BYTES = 1 << 16
MAX_HEADERS = 256
PIECE_BYTES = 1 << 18
"""Bytes of a body to send between two progress calls."""
UploadProgress = Callable[[int, int], None]
_WITH_BODY = ("POST", "PUT", "PATCH")


class BadHTTPResponse(ConnectionError):
    """The response is not HTTP, or is truncated."""


class Disconnected(BadHTTPResponse):
    """The connection was closed before the first byte of a response."""


class Headers(Mapping[str, str]):
    """Headers of a response; names are case-insensitive. The last duplicate wins."""

    def __init__(self, values: Dict[str, str]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Answer:
    """The status and headers of a response, and its body as a stream."""

    def __init__(self, reader: BinaryIO, method: str) -> None:
        self._reader = reader
        version, self.status, self.reason = _status(reader)
        self.headers = Headers(_headers(reader))
        while 100 <= self.status < 200:
            version, self.status, self.reason = _status(reader)
            self.headers = Headers(_headers(reader))
        tokens = self.headers.get("connection", "").lower()
        self.is_kept_alive = "close" not in tokens and (version > 0 or "keep-alive" in tokens)
        self._is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        self._left: Optional[int] = self._length(method)
        """Bytes left in the body or chunk; None if the body ends with the connection."""

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes as they arrive; return b"" at the end.

        Raises:
            BadHTTPResponse: the body is truncated.
        """
        if self._is_chunked and not self._left:
            self._left = self._next_chunk()
        if self._left == 0:
            return b""
        wanted = size if self._left is None else min(size, self._left)
        piece: bytes = self._reader.read1(wanted)  # type: ignore[attr-defined]  # it is buffered
        if self._left is None:
            self.is_kept_alive = False
            return piece
        if not piece:
            raise BadHTTPResponse(f"the response is truncated: {self._left} bytes are missing")
        self._left -= len(piece)
        if self._is_chunked and not self._left:
            _line(self._reader)  # the line end after the chunk
        return piece

    def _length(self, method: str) -> Optional[int]:
        if method == "HEAD" or self.status in (204, 304):
            self._is_chunked = False
            return 0
        if self._is_chunked:
            return 0
        text = self.headers.get("content-length")
        if text is None:
            return None
        if not text.isdigit():
            raise BadHTTPResponse(f"the response has the invalid Content-Length {text!r}")
        return int(text)

    def _next_chunk(self) -> int:
        text = _line(self._reader).partition(b";")[0].strip()
        try:
            size = int(text, 16)
        except ValueError:
            raise BadHTTPResponse(f"the response has a chunk of invalid length {text!r}") from None
        if size == 0:
            self._is_chunked = False
            while _line(self._reader):
                pass  # trailers
        return size


class Connection:
    """A connected socket that handles one request after another."""

    def __init__(self, sock: socket.socket, host: str) -> None:
        self.sock = sock
        self._host = host
        self._reader: Any = sock.makefile("rb")

    def exchange(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        on_progress: Optional[UploadProgress] = None,
    ) -> Answer:
        """Send a request and read the head of its response.

        The previous response must have been read. `on_progress` is called with the bytes of the
        body sent and the total bytes.

        Raises:
            OSError: the connection failed; `Disconnected` if there was no response.
            InvalidRequestException: a header or the target contains a character that HTTP does not
                allow there.
        """
        all_headers = {"Host": self._host, **headers}
        if body is not None or method in _WITH_BODY:
            all_headers["Content-Length"] = str(len(body or b""))
        lines = [f"{method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in all_headers.items()]
        for line in lines:
            if any(character < " " or character == "\x7f" for character in line):
                raise InvalidRequestException(f"a control character in {_shown(line)}")
        if " " in target:
            raise InvalidRequestException(f"a blank in the path {target!r}")
        try:
            head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        except UnicodeEncodeError:
            invalid = next(line for line in lines if max(line, default="") > "\xff")
            raise InvalidRequestException(
                f"a character outside of Latin-1 in {_shown(invalid)}"
            ) from None
        if on_progress is None or body is None:
            self.sock.sendall(head + (body or b""))
            return Answer(self._reader, method)
        self.sock.sendall(head)
        for start in range(0, len(body), PIECE_BYTES):
            self.sock.sendall(body[start : start + PIECE_BYTES])
            on_progress(min(start + PIECE_BYTES, len(body)), len(body))
        return Answer(self._reader, method)

    def leave_socket(self) -> None:
        """Stop reading; the socket stays open for another protocol."""
        self._reader.close()

    def close(self) -> None:
        self._reader.close()
        self.sock.close()


def _shown(line: str) -> str:
    """A line of a head for messages: of a header the name alone, since tokens are secret."""
    name, colon, _ = line.partition(": ")
    return f"the header {name!r}" if colon and " " not in name else repr(line)


def _status(reader: BinaryIO) -> Any:
    first = reader.readline(MAX_LINE_BYTES)
    if not first:
        raise Disconnected("the connection was closed without a response")
    parts = first.decode("latin-1").rstrip("\r\n").split(" ", 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
        raise BadHTTPResponse(f"the server does not speak HTTP: {first[:80]!r}")
    return int(parts[0][7:] or 0), int(parts[1]), parts[2] if len(parts) > 2 else ""


def _headers(reader: BinaryIO) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for _ in range(MAX_HEADERS):
        line = _line(reader)
        if not line:
            return found
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise BadHTTPResponse(f"the response has a header without a colon: {line[:80]!r}")
        found[name.strip().lower()] = value.strip()
    raise BadHTTPResponse(f"the response has more than {MAX_HEADERS} headers")


def _line(reader: BinaryIO) -> bytes:
    line = reader.readline(MAX_LINE_BYTES + 1)
    if not line.endswith(b"\n"):
        raise BadHTTPResponse("the response is truncated, or has a line that is too long")
    return line.rstrip(b"\r\n")
