"""Whether the containers of a gang reach each other over TCP."""

from __future__ import annotations

import socket
from typing import List, Tuple

from determined.exec._acceptor import Acceptor

CONNECT_S = 5.0
AT_ONCE = 32


class GreetingListener(Acceptor):
    """A port of the system's choice that greets whoever connects, until it is closed."""

    def __init__(self) -> None:
        super().__init__(socket.create_server(("", 0), backlog=512), "det-reach")
        self.port = int(self._listener.getsockname()[1])

    def close(self) -> None:
        """Greet nobody any more."""
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
    """Try to reach each of the peers, given as name, address and port; what failed, in words."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(AT_ONCE, max(1, len(peers)))) as pool:
        return [text for text in pool.map(_reach, peers) if text]


def _reach(peer: Tuple[str, str, int]) -> str:
    name, address, port = peer
    try:
        with socket.create_connection((address, port), CONNECT_S) as connection:
            if connection.recv(10) == b"determined":
                return ""
            reason = "somebody else answers there"
    except socket.timeout:
        reason = f"no answer in {CONNECT_S:.0f} s, a firewall drops it"
    except OSError as error:
        reason = error.strerror or str(error)
    return f"{name} at {address}:{port} ({reason})"
