"""A TCP proxy that authenticates connections to a server without authentication.

The server listens on the loopback address only. A client sends the task's key as a header of its
first request; the connection is then forwarded to the server. The master's proxy adds the header,
and removes it from requests of clients.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import socket
import threading
from typing import List, Set, Tuple

from determined.exec._acceptor import Acceptor

HEADER = b"x-determined-service-key"
HEAD_S = 10.0
"""The timeout for the header of the first request."""
MAX_HEAD_BYTES = 256 * 1024
MAX_CONNECTIONS = 256
PIECE_BYTES = 64 * 1024
REFUSED = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"This server can be reached only through the master's proxy.\n"
)


class KeyProxy(Acceptor):
    """Forwards connections that show the key: `with KeyProxy(port, key) as proxy`."""

    def __init__(self, port: int, key: str) -> None:
        """
        Args:
            port: the port to listen on, on all addresses.
            key: the key that clients must send.

        Raises:
            OSError: the port cannot be used.
        """
        self._key = key.encode()
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        both = family == socket.AF_INET6
        listener = socket.create_server(("", port), family=family, dualstack_ipv6=both)
        super().__init__(listener, "det-key-proxy")
        self.inner_port = _free_port()
        """The port on which the server must listen."""
        self._lock = threading.Lock()
        self._open: Set[socket.socket] = set()
        self._connection_limit = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def close(self) -> None:
        """Stop accepting connections, and close the open ones."""
        super().close()
        with self._lock:
            left = list(self._open)
        for one in left:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            self._connection_limit.acquire()
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError):
                self._register(client)
                self._forward_if_authentic(client)
        finally:
            with self._lock:
                self._open.discard(client)
            self._connection_limit.release()

    def _forward_if_authentic(self, client: socket.socket) -> None:
        client.settimeout(HEAD_S)
        head, rest = _read_head(client)
        if not self._has_key(head):
            client.sendall(REFUSED)
            return
        client.settimeout(None)
        with socket.create_connection(("127.0.0.1", self.inner_port)) as server:
            server.sendall(_without_key(head) + rest)
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()

    def _has_key(self, head: bytes) -> bool:
        shown = [line.partition(b":")[2].strip() for line in _lines(head) if _is_key(line)]
        return len(shown) == 1 and hmac.compare_digest(shown[0], self._key)

    def _register(self, client: socket.socket) -> None:
        with self._lock:
            self._open.add(client)


def _read_head(client: socket.socket) -> Tuple[bytes, bytes]:
    """Read the first request's header block, and any bytes after it. Raises OSError."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(PIECE_BYTES)
        if not piece or len(data) > MAX_HEAD_BYTES:
            raise OSError("the client sent no request")
        data += piece
    head, end, rest = data.partition(b"\r\n\r\n")
    return head + end, rest


def _lines(head: bytes) -> List[bytes]:
    return head.split(b"\r\n")


def _is_key(line: bytes) -> bool:
    return line.partition(b":")[0].strip().lower() == HEADER


def _without_key(head: bytes) -> bytes:
    return b"\r\n".join(line for line in _lines(head) if not _is_key(line))


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Copy until the source ends, then shut down the sink for writing."""
    with contextlib.suppress(OSError):
        while True:
            data = source.recv(PIECE_BYTES)
            if not data:
                break
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def read_key(folder: str) -> str:
    """The key that the master put into a task's directory; empty if there is none."""
    try:
        with open(os.path.join(folder, "service-key"), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
