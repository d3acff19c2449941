"""Answers that are kept until the data that they were made from changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")


class KeptAnswers(Generic[K, A]):
    """Answers by key, each with the version of its data; the least used ones leave first.

    The version is read from the database for each request, so an answer is never older than it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[K, tuple[str, A, int]] = OrderedDict()

    def find(self, key: K, version: str) -> A | None:
        """The answer of that version, if it is still kept."""
        kept = self._kept.get(key)
        if kept is None or kept[0] != version:
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def keep(self, key: K, version: str, answer: A, size_bytes: int) -> None:
        """Keep an answer in place of the key's earlier one; too large ones are not kept."""
        earlier = self._kept.pop(key, None)
        if earlier is not None:
            self._bytes -= earlier[2]
        if size_bytes > self._max_bytes // 8:
            return
        self._kept[key] = (version, answer, size_bytes)
        self._bytes += size_bytes
        while self._bytes > self._max_bytes:
            _, (_, _, left_bytes) = self._kept.popitem(last=False)
            self._bytes -= left_bytes
