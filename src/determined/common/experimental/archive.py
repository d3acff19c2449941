"""Unpacking a tar.gz that arrives piece by piece, without trust in its names."""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import tarfile
import zlib
from typing import Any, Callable, Iterable, Optional

from determined.common import storage
from determined.common.storage import Entry, Progress

Check = Optional[Callable[[str, Entry], None]]
"""Is told each file with what came of it; raises when that is wrong."""


class ArchiveError(Exception):
    """The archive is broken, or holds what does not belong into a checkpoint."""


def extract(
    pieces: Iterable[bytes],
    target: pathlib.Path,
    check: Check = None,
    progress: Progress = None,
) -> None:
    """Write the files and directories of a tar.gz below `target`.

    A file that `check` refuses is not left; `progress` is told the bytes written.

    Raises:
        ArchiveError: it breaks off, is no archive, or a name leads out of `target`.
        Exception: whatever `check` raises.
    """
    root = pathlib.Path(os.path.normpath(target))
    source: Any = _Pieces(pieces)
    try:
        with tarfile.open(fileobj=io.BufferedReader(source), mode="r|gz") as tar:
            for member in tar:
                _write(tar, member, root, check, progress)
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ArchiveError(str(error)) from error


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file to read from."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _write(
    tar: tarfile.TarFile,
    member: tarfile.TarInfo,
    root: pathlib.Path,
    check: Check,
    progress: Progress,
) -> None:
    path = pathlib.Path(os.path.normpath(root / member.name))
    if path != root and root not in path.parents:
        raise ArchiveError(f"'{member.name}' leads out of the checkpoint")
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    source = tar.extractfile(member) if member.isfile() else None
    if source is None:
        raise ArchiveError(f"'{member.name}' is neither a file nor a directory")
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with source, storage.writing(str(path)) as put:
        while True:
            piece = source.read(1 << 20)
            if not piece:
                break
            put(piece)
            digest.update(piece)
            size += len(piece)
            if progress is not None:
                progress(len(piece))
        if check is not None:
            check(path.relative_to(root).as_posix(), Entry(size, digest.hexdigest()))
