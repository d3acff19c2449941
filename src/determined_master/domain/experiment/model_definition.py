"""Model directories: the files that a user sends, packed for storage."""

from __future__ import annotations

import codecs
import gzip
import io
import posixpath
import tarfile
from collections.abc import Sequence

import msgspec

from determined_master.domain.errors import InvalidArgument

DIRECTORY_TYPE = 53
"""The character code of a directory's type in tar; a file has 48."""
MAX_BYTES = 96 * 1024 * 1024
MAX_PATH_BYTES = 4096
MAX_LEVELS = 100
"""Nested directories: code that shows them recurses."""
LATEST_S = 253402300799
"""The last second of the year 9999. Later times cannot be shown, or set on a file."""
_SNIFFED_BYTES = 512


class ModelFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file or directory of a model directory; `path` is relative."""

    path: str
    type: int
    content: bytes
    mode: int
    mtime_s: int


def pack(files: Sequence[ModelFile]) -> bytes:
    """Pack a model directory as tar.gz; the same files give the same bytes.

    Raises:
        InvalidArgument: a path leads out of the directory or is too long, or all is too large.
    """
    total = sum(len(f.content) for f in files)
    if total > MAX_BYTES:
        raise InvalidArgument(
            f"the model directory has {total} bytes, at most {MAX_BYTES} are allowed: "
            "leave out data with a .detignore file"
        )
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for file in files:
            archive.addfile(_member(file), io.BytesIO(file.content))
    return gzip.compress(plain.getvalue(), compresslevel=1, mtime=0)


class ListedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file or directory of a packed model directory, without its contents."""

    path: str
    is_dir: bool
    size_bytes: int
    mtime_s: int
    is_text: bool


def list_files(tgz: bytes) -> list[ListedFile]:
    """The contents of a packed model directory in order; a directory precedes its contents.

    Args:
        tgz: as `pack` returns it; empty for none.
    """
    if not tgz:
        return []
    found: dict[str, ListedFile] = {}
    with tarfile.open(fileobj=io.BytesIO(tgz), mode="r:gz") as archive:
        for member in archive:
            path, mtime_s = posixpath.normpath(member.name), min(int(member.mtime), LATEST_S)
            for parent in reversed(_parents(path)):
                found.setdefault(parent, _directory(parent, mtime_s))
            if member.isdir():
                found.setdefault(path, _directory(path, mtime_s))
                continue
            file = archive.extractfile(member)
            start = file.read(_SNIFFED_BYTES) if file is not None else b""
            found[path] = ListedFile(
                path=path,
                is_dir=False,
                size_bytes=member.size,
                mtime_s=mtime_s,
                is_text=is_text(start),
            )
    found.pop(".", None)
    return list(found.values())


def read_file(tgz: bytes, path: str) -> bytes | None:
    """The contents of one file of a packed model directory; None without such a file."""
    if not tgz:
        return None
    with tarfile.open(fileobj=io.BytesIO(tgz), mode="r:gz") as archive:
        for member in archive:
            if member.isfile() and posixpath.normpath(member.name) == posixpath.normpath(path):
                file = archive.extractfile(member)
                return file.read() if file is not None else None
    return None


def is_text(start: bytes) -> bool:
    """Whether a file with this start is text: UTF-8 without NUL; the start may be cut anywhere."""
    if b"\0" in start:
        return False
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _parents(path: str) -> list[str]:
    """Directories above a path, the nearest first."""
    found = []
    while path := posixpath.dirname(path):
        found.append(path)
    return found


def _directory(path: str, mtime_s: int) -> ListedFile:
    return ListedFile(path=path, is_dir=True, size_bytes=0, mtime_s=mtime_s, is_text=True)


def _member(file: ModelFile) -> tarfile.TarInfo:
    parts = file.path.split("/")
    if file.path.startswith("/") or ".." in parts or "\0" in file.path or not file.path:
        raise InvalidArgument(
            f"the path {file.path!r} in the model directory leads out of it: use relative paths"
        )
    size = len(file.path.encode())
    if size > MAX_PATH_BYTES or len(parts) > MAX_LEVELS:
        raise InvalidArgument(
            f"the path {file.path[:80]!r}… in the model directory has {size} bytes and "
            f"{len(parts)} levels; at most {MAX_PATH_BYTES} and {MAX_LEVELS} are allowed: "
            "use shorter paths"
        )
    member = tarfile.TarInfo(file.path)
    member.mtime = min(max(0, file.mtime_s), LATEST_S)
    member.mode = file.mode & 0o777
    if file.type == DIRECTORY_TYPE:
        member.type = tarfile.DIRTYPE
    else:
        member.size = len(file.content)
    return member
