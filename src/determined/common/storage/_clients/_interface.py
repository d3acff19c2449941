"""The interface of clients of object storage.

Keys are absolute. Calls may come from several threads.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Dict, Iterator, NamedTuple, Optional, Sequence

if TYPE_CHECKING:
    from determined.common.storage._options import Target

PART_BYTES = 16 << 20
PARTS_AT_ONCE = 4
DELETED_AT_ONCE = 16
NO_BUCKET, DENIED, BAD_NAME, SERVICE = "no bucket", "denied", "bad name", "service"
ATTEMPT_S = 10
"""Seconds of an attempt and its pause, by which a time for retries becomes a number of them."""


class Fault(NamedTuple):
    """Why the service or the network failed."""

    kind: str
    """NO_BUCKET, DENIED, BAD_NAME or SERVICE."""
    reason: str


class ObjectClient(abc.ABC):
    """A client of one bucket.

    Raises:
        ImportError: its library is not installed, or does not fit this Python or system.
    """

    @abc.abstractmethod
    def __init__(self, target: Target) -> None: ...

    @abc.abstractmethod
    def put(self, key: str, content: bytes) -> None:
        """Store an object in one request."""

    @abc.abstractmethod
    def put_pieces(self, key: str, pieces: Iterator[bytes], size: int) -> None:
        """Store an object of `size` bytes in parts. An error of the iterator leaves no object."""

    @abc.abstractmethod
    def get(self, key: str) -> Any:
        """The content, as bytes or a buffer. Raises FileNotFoundError."""

    @abc.abstractmethod
    def get_range(self, key: str, start: int, length: int) -> Any:
        """A part of the content."""

    @abc.abstractmethod
    def has(self, key: str) -> bool:
        """Whether the object exists."""

    @abc.abstractmethod
    def sizes_below(self, prefix: str) -> Dict[str, int]:
        """Sizes in bytes of the objects below `prefix/`, by key relative to it."""

    @abc.abstractmethod
    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; missing ones are skipped."""

    @staticmethod
    @abc.abstractmethod
    def fault_of(error: Exception) -> Optional[Fault]:
        """The fault that an exception of this library reports; None if it has another origin."""


class PieceFile:
    """Pieces as a binary file that is read once, in order."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes; all of the rest if it is negative or None."""
        content = bytearray(self._rest)
        while size is None or size < 0 or len(content) < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            content += piece
        end = len(content) if size is None or size < 0 else size
        self._rest = bytes(content[end:])
        taken = bytes(content[:end])
        self._position += len(taken)
        return taken

    def tell(self) -> int:
        """How many bytes were read."""
        return self._position

    def seekable(self) -> bool:
        """It is not."""
        return False


def kind_of_status(status: Optional[int]) -> str:
    """The kind of a fault by its HTTP status."""
    return {404: NO_BUCKET, 401: DENIED, 403: DENIED}.get(status or 0, SERVICE)


def attempts_in(retry_s: float) -> int:
    """How often libraries that count attempts try, for about `retry_s` seconds."""
    return max(1, round(retry_s / ATTEMPT_S))
