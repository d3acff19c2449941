"""Trees of files as archives, made piece by piece.

Each generator does a bounded amount of work for one piece and holds at most one file open: a
thread is needed while a piece is made, not while a slow client reads it.
"""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

Form = Literal["tar", "tar.gz", "zip"]
PIECE_BYTES = 1024 * 1024
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


class ArchiveMember(msgspec.Struct, frozen=True):
    """One file or directory of an archive; `name` is relative, with a slash for directories."""

    path: str
    name: str
    size: int
    mode: int
    mtime_s: int

    @property
    def is_directory(self) -> bool:
        """Whether it has no content of its own."""
        return self.name.endswith("/")


Content = Callable[[ArchiveMember], Iterator[bytes]]


def pieces_of(members: Sequence[ArchiveMember], form: Form, content: Content) -> Iterator[bytes]:
    """An archive of these members.

    Args:
        members: its content.
        form: which kind of archive.
        content: gives exactly `size` bytes of a member.

    Raises:
        OSError: a file was deleted or became shorter in the meantime.
    """
    if form == "zip":
        return _zip(members, content)
    return _gzip(_tar(members, content)) if form == "tar.gz" else _tar(members, content)


def members_of_objects(sizes: Mapping[str, int], below: str) -> list[ArchiveMember]:
    """Objects as members of an archive, by name; their directories come before them.

    An empty object with others below its name marks a directory, as older clients left it.
    """
    found: dict[str, int] = {}
    for name, size in sorted(sizes.items()):
        parts = name.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            found.pop(folder, None)
            found[f"{folder}/"] = 0
        found[name] = size
    return [
        ArchiveMember(
            path=f"{below}/{name}",
            name=name,
            size=size,
            mode=0o755 if name.endswith("/") else 0o644,
            mtime_s=0,
        )
        for name, size in sorted(found.items())
    ]


def _tar(members: Sequence[ArchiveMember], read: Content) -> Iterator[bytes]:
    for member in members:
        info = tarfile.TarInfo(member.name)
        info.type = tarfile.DIRTYPE if member.is_directory else tarfile.REGTYPE
        info.size, info.mode, info.mtime = member.size, member.mode, member.mtime_s
        yield info.tobuf(tarfile.PAX_FORMAT)
        if not member.is_directory:
            yield from read(member)
            yield bytes(-member.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _gzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(level=1, wbits=31)
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


def _zip(members: Sequence[ArchiveMember], read: Content) -> Iterator[bytes]:
    written = _Written()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for member in members:
            info = zipfile.ZipInfo(member.name, ZIP_EPOCH)
            info.external_attr = member.mode << 16
            if member.is_directory:
                archive.writestr(info, b"")
                continue
            with archive.open(info, "w", force_zip64=True) as entry:
                for piece in read(member):
                    entry.write(piece)
                    yield written.take()
    yield written.take()


class _Written:
    """A write-only file, and the data written since the last read."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Keep it."""
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""

    def take(self) -> bytes:
        """The bytes written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
