"""Collective calls of a group of ranks, by way of the first of them."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Any, List, Optional

from determined._info import get_cluster_info
from determined.ipc._broadcast import BroadcastClient, BroadcastServer


class RankGroup:
    """Ranks that talk through the first of them."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self._server: Optional[BroadcastServer] = None
        self._client: Optional[BroadcastClient] = None

    @property
    def port(self) -> Optional[int]:
        """Where this rank listens, None where it does not."""
        return self._server.get_pub_port() if self._server else None

    def listen(self, url: str, key: bytes) -> None:
        """Be the first rank: open the port the others call."""
        self._server = BroadcastServer(self.size - 1, url, key=key)

    def call(self, url: str, key: bytes) -> None:
        """Be another rank."""
        self._client = BroadcastClient(url, key=key)

    def start(self) -> None:
        """Wait until all are connected."""
        if self._server:
            self._server.safe_start()
        if self._client:
            self._client.safe_start()

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Every rank's value on the first, in order of rank."""
        values = self._collect(stuff)
        self._spread(None)  # holds the others back, so that two rounds cannot mix
        return values

    def allgather(self, stuff: Any) -> List[Any]:
        """Every rank's value on all."""
        values: List[Any] = self._spread(self._collect(stuff))
        return values

    def broadcast(self, stuff: Any) -> Any:
        """The first rank's value on all."""
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
                f"ranks {sorted(others)} answered where 1 to {self.size - 1} are due"
            )
        return [stuff, *(others[rank] for rank in range(1, self.size))]

    def _spread(self, stuff: Any) -> Any:
        if self._client:
            return self._client.recv()
        if self._server:
            self._server.broadcast(stuff)
        return stuff


def connect_ranks(group: RankGroup, chief_ip: str, port: int, is_one_host: bool) -> RankGroup:
    """Connect all ranks of a trial: the first listens, on this host alone if all are here."""
    if group.rank == 0:
        group.listen(f"tcp://{'127.0.0.1' if is_one_host else '*'}:{port}", task_key())
    else:
        group.call(f"tcp://{chief_ip}:{port}", task_key())
    group.start()
    return group


def task_key() -> bytes:
    """What the ranks of one task have in common and nobody else has.

    Off a cluster there is no such secret: set DET_RANK_SECRET to the same text for all ranks
    where the machine is shared; without it, any process of this machine
    could connect, and send values though no code.
    """
    info = get_cluster_info()
    token = info.session_token if info else os.environ.get("DET_SESSION_TOKEN", "")
    allocation = info.allocation_id if info else os.environ.get("DET_ALLOCATION_ID", "")
    secret = token or os.environ.get("DET_RANK_SECRET", "")
    return hmac.new(
        secret.encode(), b"determined ranks\0" + allocation.encode(), hashlib.sha256
    ).digest()
