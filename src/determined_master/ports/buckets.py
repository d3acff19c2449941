"""Object storage of checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol


class Buckets(Protocol):
    """Object storage, by the configuration of checkpoint storage. Every call blocks.

    Raises (every call):
        FailedPrecondition: the admin does not allow it.
        Unavailable: it refuses or does not answer.
        Unimplemented: its client is not installed.
    """

    def close(self) -> None:
        """End its connections."""

    def sizes_below(
        self, config: Mapping[str, Any], path: str, most: int | None = None
    ) -> dict[str, int]:
        """Sizes in bytes of the objects below a path, by the rest of their paths.

        Args:
            most: objects that are listed; None for all.
        """

    def content(
        self, config: Mapping[str, Any], path: str, most_bytes: int | None = None
    ) -> bytes | None:
        """The object at a path, if there is one; its first `most_bytes`, or all of it."""

    def pieces(self, config: Mapping[str, Any], path: str) -> Iterator[bytes]:
        """The object at a path, piece by piece."""
