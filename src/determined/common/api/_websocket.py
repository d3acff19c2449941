"""A minimal WebSocket client (RFC 6455) for tunnels: binary messages, standard library only."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import socket
import struct
import threading
from typing import Any, Dict, Optional, Tuple

from determined.common.api._address import parse_address
from determined.common.api._http import BadHTTPResponse, _headers, _status
from determined.common.api._transport import connect
from determined.common.api.certs import Cert

MAX_FRAME_BYTES = 64 * 1024 * 1024
_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_ERROR_BYTES = 4096
"""The maximum size of an error response to read."""


class Refused(BadHTTPResponse):
    """The master refused the WebSocket; `status` is that of its response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"the master answered {status}: {text}")
        self.status = status


class WebSocket:
    """One open WebSocket. One thread may send while another receives."""

    def __init__(self, sock: socket.socket, reader: Any) -> None:
        self._sock = sock
        self._reader = reader
        self._lock = threading.Lock()
        self._is_closing = False
        self._is_binary = False

    def send(self, data: bytes) -> None:
        """Send one binary message. Raises OSError."""
        self._send(_BINARY, data)

    def receive(self) -> bytes:
        """The next chunk of a binary message; empty after the master has closed.

        Raises:
            OSError: the connection failed.
        """
        while True:
            kind, data = self._frame()
            if kind == _CLOSE:
                self.close()
                return b""
            if kind == _PING:
                self._send(_PONG, data)
            elif kind in (_BINARY, _TEXT):
                self._is_binary = kind == _BINARY
            if kind in (_BINARY, _CONTINUED) and self._is_binary and data:
                return data

    def close(self) -> None:
        """Send a close frame, once."""
        with contextlib.suppress(OSError):
            if not self._is_closing:
                self._is_closing = True
                self._send(_CLOSE, struct.pack(">H", 1000))

    def drop(self) -> None:
        """Shut down the connection; blocked calls return."""
        self.close()
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Close the socket; no other thread may use it any longer."""
        self._reader.close()
        self._sock.close()

    def _send(self, kind: int, data: bytes) -> None:
        mask = os.urandom(4)
        head = bytes([0x80 | kind]) + _length(len(data)) + mask
        with self._lock:
            self._sock.sendall(head + _masked(data, mask))

    def _frame(self) -> Tuple[int, bytes]:
        first, second = self._exactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self._exactly(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._exactly(8))
        if second & 0x80 or size > MAX_FRAME_BYTES:
            raise BadHTTPResponse("the master sent an invalid frame")
        return first & 0x0F, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data: bytes = self._reader.read(size)
        if len(data) < size:
            raise BadHTTPResponse("the connection was closed in the middle of a frame")
        return data


def open_websocket(master: str, path: str, cert: Cert, token: str = "") -> WebSocket:
    """Open a WebSocket at a path of the master.

    Raises:
        Refused: the master refused it.
        OSError: the connection failed.
    """
    address = parse_address(master)
    sock = connect(address, cert)
    reader: Any = sock.makefile("rb")
    try:
        key = base64.b64encode(os.urandom(16))
        headers = {
            "Host": address.origin,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key.decode(),
        }
        if token:
            headers["Authorization"] = f"Bearer {token}"
        lines = [f"GET {address.path}{path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        _, status, reason = _status(reader)
        answered = _headers(reader)
        if status != 101:
            raise Refused(status, _error_text(reader, answered) or reason)
        accepted = base64.b64encode(hashlib.sha1(key + _KEY).digest()).decode()
        if answered.get("sec-websocket-accept") != accepted:
            raise BadHTTPResponse("the server does not speak WebSocket")
        sock.settimeout(None)
        return WebSocket(sock, reader)
    except BaseException:
        reader.close()
        sock.close()
        raise


def _error_text(reader: Any, headers: Dict[str, str]) -> Optional[str]:
    size = headers.get("content-length", "0")
    if not size.isdigit():
        return None
    text: str = reader.read(min(int(size), _ERROR_BYTES)).decode("utf-8", "replace").strip()
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return str(json.loads(text)["message"])
    return text


def _length(size: int) -> bytes:
    """The length field of a masked frame."""
    if size < 126:
        return bytes([0x80 | size])
    if size < 1 << 16:
        return b"\xfe" + struct.pack(">H", size)
    return b"\xff" + struct.pack(">Q", size)


def _masked(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    long = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(long, "big")).to_bytes(size, "big")
