"""Stands between clients and a master; loses answers, or swallows all, when it is told to."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable

CHUNK = 65536


class LossyProxy:
    """Passes bytes on. An answer that it loses has left the master: what it tells is committed."""

    def __init__(self, port_of_master: int) -> None:
        self._target = port_of_master
        self._lock = threading.Lock()
        self._wanted: tuple[bytes, Callable[[], None]] | None = None
        self._is_closed = False
        self._closing = threading.Event()
        self._is_swallowing = False
        self._is_healed = threading.Event()
        self._is_healed.set()
        self._swallowed = 0
        """How often it began to swallow: connections of before stay half-open forever."""
        self._links: set[threading.Thread] = set()
        self.has_struck = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, name="proxy")
        self._accepting.start()

    def lose_answer(self, path: bytes, strike: Callable[[], None]) -> None:
        """Call `strike` when the answer to the next POST to such a path comes, and drop it."""
        self.has_struck.clear()
        with self._lock:
            self._wanted = (path, strike)

    def swallow(self) -> None:
        """Pass nothing on any more, in no direction; all connections stay open.

        New ones wait, as their first packets would be sent again until one comes through.
        """
        self._is_healed.clear()
        self._is_swallowing = True
        self._swallowed += 1

    def heal(self) -> None:
        """Pass new connections on; those of before stay as they are."""
        self._is_swallowing = False
        self._is_healed.set()

    def close(self) -> None:
        """Cut every connection and wait for the threads."""
        self._is_closed = True
        self._closing.set()
        self._is_healed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for link in list(self._links):
            link.join()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            link = threading.Thread(target=self._serve, args=(client,), name="proxy link")
            self._links.add(link)
            link.start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            self._is_healed.wait()
            master = socket.create_connection(("127.0.0.1", self._target), 5)
            master.settimeout(None)
            with master:
                self._pass_on(client, master)
        self._links.discard(threading.current_thread())

    def _pass_on(self, client: socket.socket, master: socket.socket) -> None:
        is_marked = False
        swallowed = self._swallowed
        with selectors.DefaultSelector() as selector:
            for end in (client, master):
                selector.register(end, selectors.EVENT_READ)
            while not self._is_closed:
                ready = selector.select(0.2)
                if self._is_swallowing or swallowed != self._swallowed:
                    self._closing.wait()
                    return
                for key, _ in ready:
                    if key.fileobj is client:
                        data = client.recv(CHUNK)
                        is_marked |= self._is_wanted(data)
                        master.sendall(data)
                    else:
                        data = master.recv(CHUNK)
                        if is_marked and self._strike():
                            return
                        client.sendall(data)
                    if not data:
                        return

    def _is_wanted(self, data: bytes) -> bool:
        wanted = self._wanted
        first = data.partition(b"\r\n")[0]
        return wanted is not None and first.startswith(b"POST ") and wanted[0] in first

    def _strike(self) -> bool:
        with self._lock:
            wanted, self._wanted = self._wanted, None
        if wanted is None:
            return False
        wanted[1]()
        self.has_struck.set()
        return True
