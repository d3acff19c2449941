"""A door in front of a server that asks for nothing: only who shows the task's key gets in.

The server listens on this machine's loopback address alone. Who opens a connection here shows the
key as a header of the first request; from then on the connection is the server's. The master's
proxy adds that header, and takes it out of what clients send.
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
"""In which the first request's head has to come."""
MAX_HEAD_BYTES = 256 * 1024
MAX_CONNECTIONS = 256
PIECE_BYTES = 64 * 1024
REFUSED = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"This is reached through the master's proxy alone.\n"
)


class KeyProxy(Acceptor):
    """Listens while it is open: `with KeyProxy(port, key) as door`."""

    def __init__(self, port: int, key: str) -> None:
        """
        Args:
            port: where to listen, on all addresses.
            key: what connections have to show.

        Raises:
            OSError: the port cannot be used.
        """
        self._key = key.encode()
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        both = family == socket.AF_INET6
        listener = socket.create_server(("", port), family=family, dualstack_ipv6=both)
        super().__init__(listener, "det-door")
        self.inner_port = _free_port()
        """Where the server behind it has to listen."""
        self._lock = threading.Lock()
        self._open: Set[socket.socket] = set()
        self._places = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def close(self) -> None:
        """Accept nobody any more, and end the connections."""
        super().close()
        with self._lock:
            left = list(self._open)
        for one in left:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            self._places.acquire()
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError):
                self._note(client)
                self._admit(client)
        finally:
            with self._lock:
                self._open.discard(client)
            self._places.release()

    def _admit(self, client: socket.socket) -> None:
        client.settimeout(HEAD_S)
        head, rest = _read_head(client)
        if not self._shows_key(head):
            client.sendall(REFUSED)
            return
        client.settimeout(None)
        with socket.create_connection(("127.0.0.1", self.inner_port)) as server:
            server.sendall(_without_key(head) + rest)
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()

    def _shows_key(self, head: bytes) -> bool:
        shown = [line.partition(b":")[2].strip() for line in _lines(head) if _is_key(line)]
        return len(shown) == 1 and hmac.compare_digest(shown[0], self._key)

    def _note(self, client: socket.socket) -> None:
        with self._lock:
            self._open.add(client)


def _read_head(client: socket.socket) -> Tuple[bytes, bytes]:
    """The first request's head with its empty line, and what came behind it. Raises OSError."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(PIECE_BYTES)
        if not piece or len(data) > MAX_HEAD_BYTES:
            raise OSError("there is no request")
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
    """Copy until the source ends; the sink is told so, and the source is read no more."""
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
    """The key that the master has put into a task's directory; empty where there is none."""
    try:
        with open(os.path.join(folder, "service-key"), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
