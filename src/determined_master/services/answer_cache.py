"""Answers that are kept until the data that they were made from changes.

All kinds of answers of a master share one memory, so one bound holds for all of them together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")

MAX_BYTES = 64 * 2**20
"""Of all kept answers of a master."""
LARGEST_PART = 8
"""An answer is kept up to this part of the memory, so that one does not displace all others."""
ENTRY_BYTES = 700
"""Keys, versions and objects of an entry beside the texts of its answer."""


class Kept(msgspec.Struct, frozen=True, gc=False):
    """An answer and the version of its data."""

    version: str
    answer: Any
    size_bytes: int


class CacheBudget:
    """The kept answers of a master; the least recently used ones leave first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0
        self._kept: OrderedDict[tuple[str, Hashable], Kept] = OrderedDict()

    def find(self, key: tuple[str, Hashable]) -> Kept | None:
        """The entry of a key, of any version."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def keep(self, key: tuple[str, Hashable], kept: Kept) -> None:
        """Keep an entry in place of the key's earlier one; too large ones are not kept."""
        self._remove(key)
        if kept.size_bytes > self.max_bytes // LARGEST_PART:
            return
        self._kept[key] = kept
        self.used_bytes += kept.size_bytes
        while self.used_bytes > self.max_bytes:
            self._remove(next(iter(self._kept)))

    def _remove(self, key: tuple[str, Hashable]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.used_bytes -= kept.size_bytes


class AnswerCache(Generic[K, A]):
    """One kind of answers, each with the version of its data.

    The version is read from the database for each request, so an answer is never older than it.
    """

    def __init__(self, memory: CacheBudget, kind: str) -> None:
        """
        Args:
            memory: shared with the other kinds.
            kind: different for each.
        """
        self._memory = memory
        self._kind = kind

    def find(self, key: K, version: str) -> A | None:
        """The answer of that version, if it is still kept."""
        kept = self._memory.find((self._kind, key))
        return None if kept is None or kept.version != version else kept.answer

    def find_any(self, key: K) -> A | None:
        """The answer of the latest version that is still kept."""
        kept = self._memory.find((self._kind, key))
        return None if kept is None else kept.answer

    def keep(self, key: K, version: str, answer: A, size_bytes: int) -> None:
        """Keep an answer in place of the key's earlier one.

        Args:
            key: of the answer.
            version: of its data.
            answer: must not change any more.
            size_bytes: of the texts and objects in the answer.
        """
        size_bytes += ENTRY_BYTES
        self._memory.keep((self._kind, key), Kept(version, answer, size_bytes))
