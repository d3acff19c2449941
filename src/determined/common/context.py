"""The context directory: packing the files that are submitted with an experiment."""

from __future__ import annotations

import base64
import dataclasses
import os
import pathlib
import stat
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from determined.common import ignore, text_file

LIMIT_BYTES = 96 << 20
"""The master's limit for one request."""
_FILE, _DIRECTORY = ord("0"), ord("5")
_IGNORE_FILE = ".detignore"
ALWAYS_IGNORED = ("__pycache__/", ".git", f"/{_IGNORE_FILE}")
_LARGEST = 5

PathLike = Union[str, "os.PathLike[str]"]
Progress = Callable[[int, int], None]


class ContextError(Exception):
    """A directory cannot be sent; the message has the entry, the reason and a remedy."""


@dataclasses.dataclass(frozen=True)
class _Entry:
    """One file or directory: its source, its path in the task, and its status."""

    source: pathlib.Path
    path: str
    status: os.stat_result

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def size_bytes(self) -> int:
        return 0 if self.is_directory else self.status.st_size


def read(
    root: Optional[PathLike],
    includes: Iterable[PathLike] = (),
    limit_bytes: int = LIMIT_BYTES,
    progress: Optional[Progress] = None,
) -> List[Dict[str, Any]]:
    """Pack a directory and included files as `modelDefinition` items.

    Files that match `.detignore`, version control and byte code are left out. Included files and
    directories are added at the top level under their own names.

    Args:
        root: the directory, or None.
        includes: files and directories to add.
        limit_bytes: the limit for the size of all files.
        progress: called with the bytes and the number of items read so far.

    Raises:
        ContextError: the directory does not exist; a name occurs twice; an entry is unreadable, is
            neither file nor directory, or links out of the directory; `.detignore` is not UTF-8;
            or the files exceed the limit.
    """
    entries = list(_entries_of_root(pathlib.Path(root))) if root is not None else []
    for include in includes:
        entries += _entries_of_include(pathlib.Path(include))
    _check_names(entries)
    total_bytes = sum(entry.size_bytes for entry in entries)
    if total_bytes > limit_bytes:
        raise ContextError(_too_large(entries, total_bytes, limit_bytes))
    items, read_bytes = [], 0
    for entry in entries:
        items.append(_item(entry))
        read_bytes += entry.size_bytes
        if progress is not None:
            progress(read_bytes, len(items))
    return items


def item(path: str, source: pathlib.Path) -> Dict[str, Any]:
    """One file or directory as an item of `modelDefinition`, under this path.

    Raises:
        ContextError: it cannot be read.
    """
    try:
        return _item(_Entry(source, path, source.stat()))
    except OSError as error:
        raise ContextError(_unreadable(source, error)) from None


def _entries_of_root(root: pathlib.Path) -> Iterator[_Entry]:
    if not root.exists():
        raise ContextError(f"model directory '{root}' does not exist")
    if not root.is_dir():
        raise ContextError(
            f"model directory '{root}' is a file; name its directory, or add it with --include"
        )
    lines = [*ALWAYS_IGNORED]
    own = root / _IGNORE_FILE
    if own.is_file():
        try:
            lines += text_file.read(own, "ignore file").splitlines()
        except text_file.TextFileError as error:
            raise ContextError(str(error)) from None
    yield from _walk(root.resolve(), root.resolve(), "", ignore.Ignore(lines))


def _entries_of_include(path: pathlib.Path) -> Iterator[_Entry]:
    try:
        status = path.stat()
    except OSError as error:
        raise ContextError(f"included file '{path}': {error.strerror}") from None
    where = path.resolve()
    yield _Entry(path, where.name, status)
    if where.is_dir():
        yield from _walk(where, where, f"{where.name}/", ignore.Ignore(ALWAYS_IGNORED[:2]))


def _walk(
    root: pathlib.Path, folder: pathlib.Path, prefix: str, ignored: ignore.Ignore
) -> Iterator[_Entry]:
    """All entries below `folder`, sorted by name, directories before their content."""
    try:
        names = sorted(os.listdir(str(folder)))
    except OSError as error:
        raise ContextError(_unreadable(folder, error)) from None
    for name in names:
        source, path = folder / name, prefix + name
        is_link = source.is_symlink()
        # A link is sent as its target, so the target decides whether it is a directory.
        if ignored.covers(path, source.is_dir()):
            continue
        if is_link:
            _check_link(root, folder, source)
        try:
            entry = _Entry(source, path, source.stat())
        except OSError as error:
            raise ContextError(_unreadable(source, error)) from None
        if not entry.is_directory and not stat.S_ISREG(entry.status.st_mode):
            raise ContextError(
                f"'{source}' is neither a file nor a directory and cannot be sent; remove it or "
                f"leave it out with {_IGNORE_FILE}"
            )
        yield entry
        if entry.is_directory:
            yield from _walk(root, source, f"{path}/", ignored)


def _check_link(root: pathlib.Path, folder: pathlib.Path, link: pathlib.Path) -> None:
    remedy = f"copy its target into the directory, or leave it out with {_IGNORE_FILE}"
    to = os.readlink(str(link))
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        raise ContextError(f"symlink '{link}' -> '{to}' has no target; {remedy}") from None
    if target != root and root not in target.parents:
        raise ContextError(f"symlink '{link}' -> '{to}' leads out of '{root}'; {remedy}")
    here = folder.resolve()
    if target == here or target in here.parents:
        raise ContextError(f"symlink '{link}' -> '{to}' links to its own parent; {remedy}")


def _check_names(entries: Iterable[_Entry]) -> None:
    seen: Dict[str, pathlib.Path] = {}
    for entry in entries:
        if entry.path in seen:
            raise ContextError(
                f"'{entry.path}' would be sent twice: from '{seen[entry.path]}' and from "
                f"'{entry.source}'; drop one of the two"
            )
        seen[entry.path] = entry.source


def _item(entry: _Entry) -> Dict[str, Any]:
    content = ""
    if not entry.is_directory:
        try:
            content = base64.b64encode(entry.source.read_bytes()).decode()
        except OSError as error:
            raise ContextError(_unreadable(entry.source, error)) from None
    return {
        "path": entry.path,
        "type": _DIRECTORY if entry.is_directory else _FILE,
        "content": content,
        "mtime": str(int(entry.status.st_mtime)),
        "mode": entry.status.st_mode,
        "uid": 0,
        "gid": 0,
    }


def _unreadable(path: pathlib.Path, error: OSError) -> str:
    return (
        f"cannot read '{path}': {error.strerror}; make it readable or leave it out with "
        f"{_IGNORE_FILE}"
    )


def _too_large(entries: Iterable[_Entry], total_bytes: int, limit_bytes: int) -> str:
    by_size: List[Tuple[int, str]] = sorted(
        ((e.size_bytes, e.path) for e in entries), reverse=True
    )
    largest = ", ".join(f"{path} ({_megabytes(size)})" for size, path in by_size[:_LARGEST])
    return (
        f"the files to send have {_megabytes(total_bytes)}, over the limit of "
        f"{_megabytes(limit_bytes)}. Largest: {largest}. Leave files out with {_IGNORE_FILE}, or "
        "mount data with bind_mounts"
    )


def _megabytes(count: int) -> str:
    return f"{count / (1 << 20):.1f} MB"
