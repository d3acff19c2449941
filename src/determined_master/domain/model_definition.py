"""Model directories: the files that a user sends, packed for storage."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Sequence

import msgspec

from determined_master.domain.errors import InvalidArgument

DIRECTORY_TYPE = 53
"""The character code of a directory's type in tar; a file has 48."""
MAX_BYTES = 96 * 1024 * 1024


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
        InvalidArgument: a path leads out of the directory, or all is too large.
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


def _member(file: ModelFile) -> tarfile.TarInfo:
    parts = file.path.split("/")
    if file.path.startswith("/") or ".." in parts or "\0" in file.path or not file.path:
        raise InvalidArgument(
            f"the path {file.path!r} in the model directory leads out of it: use relative paths"
        )
    member = tarfile.TarInfo(file.path)
    member.mtime = max(0, file.mtime_s)
    member.mode = file.mode & 0o777
    if file.type == DIRECTORY_TYPE:
        member.type = tarfile.DIRTYPE
    else:
        member.size = len(file.content)
    return member
