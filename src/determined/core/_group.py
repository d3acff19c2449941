"""Collective calls of a group of ranks, routed through its first rank."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Any, List, Optional

from determined._info import get_cluster_info
from determined.ipc._broadcast import BroadcastClient, BroadcastServer


class RankGroup:
    """A group of ranks whose first rank relays all messages."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self._server: Optional[BroadcastServer] = None
        self._client: Optional[BroadcastClient] = None

    @property
    def port(self) -> Optional[int]:
        """The port on which this rank listens; None on the other ranks."""
        return self._server.get_pub_port() if self._server else None

    def listen(self, url: str, key: bytes) -> None:
        """Listen for the other ranks; called on the first rank."""
        self._server = BroadcastServer(self.size - 1, url, key=key)

    def call(self, url: str, key: bytes) -> None:
        """Prepare to connect to the first rank; called on the others."""
        self._client = BroadcastClient(url, key=key)

    def start(self) -> None:
        """Wait until all ranks are connected."""
        if self._server:
            self._server.safe_start()
        if self._client:
            self._client.safe_start()

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Collect every rank's value on the first rank, in order of rank."""
        values = self._collect(stuff)
        self._spread(None)  # makes the others wait, so that two rounds cannot mix
        return values

    def allgather(self, stuff: Any) -> List[Any]:
        """Collect every rank's value on all ranks."""
        values: List[Any] = self._spread(self._collect(stuff))
        return values

    def broadcast(self, stuff: Any) -> Any:
        """Send the first rank's value to all ranks."""
        return self._spread(stuff)

    def close(self) -> None:
        """Close the connections."""
        if self._server:
            self._server.close()
        if self._client:
            self._client.close()

    def _collect(self, stuff: Any) -> Optional[List[Any]]:
        if self._client:
            self._client.send((self.rank, stuff))
            return None
        others = dict(self._server.gather()) if self._server else {}
        if sorted(others) != list(range(1, self.size)):
            raise RuntimeError(
                f"got values of ranks {sorted(others)}, expected those of 1 to {self.size - 1}"
            )
        return [stuff, *(others[rank] for rank in range(1, self.size))]

    def _spread(self, stuff: Any) -> Any:
        if self._client:
            return self._client.recv()
        if self._server:
            self._server.broadcast(stuff)
        return stuff


def connect_ranks(group: RankGroup, chief_ip: str, port: int, is_one_host: bool) -> RankGroup:
    """Connect all ranks of a trial. Rank 0 listens, on the loopback address if all are local."""
    if group.rank == 0:
        group.listen(f"tcp://{'127.0.0.1' if is_one_host else '*'}:{port}", task_key())
    else:
        group.call(f"tcp://{chief_ip}:{port}", task_key())
    group.start()
    return group


def task_key() -> bytes:
    """The shared key that authenticates the ranks of one task.

    Off the cluster there is no token to derive it from. On a shared machine set DET_RANK_SECRET
    to the same text for all ranks; without it any local process can connect and send values,
    though no code.
    """
    info = get_cluster_info()
    token = info.session_token if info else os.environ.get("DET_SESSION_TOKEN", "")
    allocation = info.allocation_id if info else os.environ.get("DET_ALLOCATION_ID", "")
    secret = token or os.environ.get("DET_RANK_SECRET", "")
    return hmac.new(
        secret.encode(), b"determined ranks\0" + allocation.encode(), hashlib.sha256
    ).digest()
