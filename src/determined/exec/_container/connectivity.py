"""TCP connectivity between the containers of a gang."""

from __future__ import annotations

import socket
from typing import List, Tuple

from determined.exec._acceptor import Acceptor

CONNECT_S = 5.0
AT_ONCE = 32


class GreetingListener(Acceptor):
    """Listens on a free port and sends a greeting to every client."""

    def __init__(self) -> None:
        super().__init__(socket.create_server(("", 0), backlog=512), "det-reach")
        self.port = int(self._listener.getsockname()[1])

    def close(self) -> None:
        """Stop listening."""
        super().close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer:
                try:
                    peer.sendall(b"determined")
                except OSError:
                    continue


def reach_all(peers: List[Tuple[str, str, int]]) -> List[str]:
    """Connect to each peer (name, address, port); return a text for each failure."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(AT_ONCE, max(1, len(peers)))) as pool:
        return [text for text in pool.map(_reach, peers) if text]


def _reach(peer: Tuple[str, str, int]) -> str:
    name, address, port = peer
    try:
        with socket.create_connection((address, port), CONNECT_S) as connection:
            if connection.recv(10) == b"determined":
                return ""
            reason = "another server answered"
    except socket.timeout:
        reason = f"no answer within {CONNECT_S:.0f} s; a firewall may block the port"
    except OSError as error:
        reason = error.strerror or str(error)
    return f"{name} at {address}:{port} ({reason})"
