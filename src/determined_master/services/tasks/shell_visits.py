"""Which user's token has last read a shell, by the address of the request.

The clients of 0.38.1 send no token to the tunnel of a shell, but they read the shell just before
from the same address. The tunnel acts with that token, so it ends with it.
"""

from __future__ import annotations

from collections import OrderedDict

MAX_ADDRESSES = 64
"""Remembered for one shell; the oldest is forgotten."""


class ShellVisits:
    """Reads of live shells, in memory: after a restart of the master users read them again."""

    def __init__(self) -> None:
        self._tokens: dict[str, OrderedDict[str, str]] = {}

    def record(self, task_id: str, address: str, token: str) -> None:
        """Record that a request with this user's token has read the shell."""
        if not token:
            return
        tokens = self._tokens.setdefault(task_id, OrderedDict())
        tokens[address] = token
        tokens.move_to_end(address)
        if len(tokens) > MAX_ADDRESSES:
            tokens.popitem(last=False)

    def token_of(self, task_id: str, address: str) -> str:
        """The token with which this address last read the shell; empty if it has not."""
        tokens = self._tokens.get(task_id)
        return "" if tokens is None else tokens.get(address, "")

    def forget(self, task_id: str) -> None:
        """Forget the reads of a shell that has ended."""
        self._tokens.pop(task_id, None)
