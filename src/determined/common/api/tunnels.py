"""TCP tunnels to services of tasks, through the master."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Callable, List, NamedTuple, Optional, Set
from urllib.parse import quote

from determined.common.api._websocket import WebSocket, open_websocket
from determined.common.api.certs import Cert

PIECE_BYTES = 64 * 1024
LINGER_S = 5.0
"""How long to wait for more output after the end of the input."""


class Way(NamedTuple):
    """The address and credentials of a master."""

    master: str
    cert: Cert
    token: str = ""


def open_tunnel(way: Way, service: str) -> WebSocket:
    """Connect to a service. Raises OSError, with the master's message if it refuses."""
    return open_websocket(way.master, f"/proxy/{quote(service, safe=':')}/", way.cert, way.token)


def carry_standard(way: Way, service: str, source: int = 0, sink: int = 1) -> None:
    """Connect standard input and output to a service, until it closes.

    Raises:
        OSError: the service cannot be reached, or the connection fails.
    """
    tunnel = open_tunnel(way, service)
    received_at = time.monotonic()
    ended = threading.Event()

    def send() -> None:
        with contextlib.suppress(OSError):
            while True:
                data = os.read(source, PIECE_BYTES)
                if not data:
                    break
                tunnel.send(data)
            while not ended.wait(max(0.05, received_at + LINGER_S - time.monotonic())):
                if time.monotonic() - received_at >= LINGER_S:
                    break
        tunnel.close()

    threading.Thread(target=send, name="tunnel-input", daemon=True).start()
    try:
        while True:
            data = tunnel.receive()
            if not data:
                return
            received_at = time.monotonic()
            while data:
                data = data[os.write(sink, data) :]
    finally:
        ended.set()
        tunnel.drop()


class Listener:
    """A local port whose connections are forwarded to a service."""

    def __init__(
        self, way: Way, service: str, port: int, on_refused: Callable[[str], None]
    ) -> None:
        """
        Args:
            way: the master's address and credentials.
            service: the service.
            port: the port on the loopback address; 0 for any free port.
            on_refused: called with the reason if a connection is refused.

        Raises:
            OSError: the port cannot be used.
        """
        self._way = way
        self._service = service
        self._on_refused = on_refused
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._threads: Set[threading.Thread] = set()
        self._open: List[Callable[[], None]] = []
        self._is_closed = False
        self._accepting = threading.Thread(target=self._accept, name="tunnel", daemon=True)
        self._accepting.start()

    def wait(self) -> None:
        """Wait until the port is closed."""
        self._accepting.join()

    def close(self) -> None:
        """Close the port and all connections."""
        with self._lock:
            self._is_closed = True
            left, threads = list(self._open), list(self._threads)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for drop in left:
            drop()
        self._accepting.join()
        for thread in threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            with self._lock:
                if self._is_closed:
                    client.close()
                    return
                self._threads.add(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        try:
            tunnel = self._connect()
            if tunnel is not None:
                self._carry(client, tunnel)
        finally:
            client.close()
            with self._lock:
                self._threads.discard(threading.current_thread())

    def _connect(self) -> Optional[WebSocket]:
        try:
            return open_tunnel(self._way, self._service)
        except OSError as error:
            self._on_refused(f"{self._service}: {error}")
            return None

    def _carry(self, client: socket.socket, tunnel: WebSocket) -> None:
        def drop() -> None:
            tunnel.drop()
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

        with self._lock:
            self._open.append(drop)
            is_late = self._is_closed
        if is_late:
            drop()
        up = threading.Thread(target=_send_all, args=(client, tunnel), daemon=True)
        up.start()
        try:
            with contextlib.suppress(OSError):
                while True:
                    data = tunnel.receive()
                    if not data:
                        break
                    client.sendall(data)
        finally:
            drop()
            up.join()
            tunnel.release()
            with self._lock:
                self._open.remove(drop)


def _send_all(client: socket.socket, tunnel: WebSocket) -> None:
    with contextlib.suppress(OSError):
        while True:
            data = client.recv(PIECE_BYTES)
            if not data:
                break
            tunnel.send(data)
    tunnel.close()
