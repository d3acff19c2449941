"""Unpacking of a streamed tar.gz archive whose paths are not trusted."""

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
"""Called with each file's path and entry; raises if they are wrong."""


class ArchiveError(Exception):
    """The archive is invalid, or has an entry that a checkpoint cannot have."""


def extract(
    pieces: Iterable[bytes],
    target: pathlib.Path,
    check: Check = None,
    progress: Progress = None,
) -> None:
    """Write the files and directories of a tar.gz below `target`.

    A file that `check` refuses is removed. `progress` is called with the bytes written.

    Raises:
        ArchiveError: the archive is truncated or invalid, or a path leaves `target`.
        Exception: an error of `check`.
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
    """A readable file from an iterable of bytes."""

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
