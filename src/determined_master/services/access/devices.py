"""Devices from which an account has logged in before: browsers, which keep a signed mark.

Guesses of others from the same address, or of the same account, do not lock them out.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from determined_master import entropy

MAX_MARKS = 4
"""Looked at in one request: pages of other origins can add some."""


class Devices:
    """Makes and checks marks. Nothing is stored: a mark names its account by its signature."""

    def __init__(self, secret: bytes) -> None:
        """`secret` is the cluster's."""
        self._secret = secret

    def mark(self, username: str) -> str:
        """The mark of a device that has just logged in."""
        number = entropy.token()
        return f"{number}.{self._signature(username, number)}"

    def find(self, username: str, marks: Sequence[str]) -> str:
        """The number of a device of this account; empty for another device."""
        for mark in marks[:MAX_MARKS]:
            number, _, signature = mark.partition(".")
            right = self._signature(username, number)
            if hmac.compare_digest(right.encode(), signature.encode()):
                return number
        return ""

    def _signature(self, username: str, number: str) -> str:
        text = f"device:{number}:{username}".encode()
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()
