"""Directory trees: listing, patterns, creation and removal."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Union

Selector = Optional[Callable[[str], bool]]
"""Whether to include a path relative to the checkpoint; a directory's ends with a slash."""
_NOTHING = contextlib.nullcontext()


def list_directory(root: str, *, is_shrinking: bool = False) -> Dict[str, int]:
    """Sizes in bytes of all files below `root`, by relative path.

    A directory's path ends with a slash and its size is 0. Links are followed, but each directory
    is listed once, so that a link into the tree does not loop.

    Args:
        root: the directory.
        is_shrinking: ignore files that are deleted during the listing.

    Raises:
        ValueError: `root` is not a directory.
        FileNotFoundError: a file was deleted during the listing.
    """
    if is_shrinking:
        return dict(_walk(root, contextlib.suppress(FileNotFoundError)))
    if not os.path.isdir(root):
        raise ValueError(f"checkpoint directory {root!r} is not a directory")
    return dict(_walk(root))


def matches_any(path: str, globs: Iterable[str]) -> bool:
    """Whether a relative path matches one of the patterns; `**` matches across directories."""
    return any(_pattern(glob).fullmatch(path.rstrip("/")) for glob in globs)


def with_parents(paths: Iterable[str]) -> Set[str]:
    """The paths and all of their parent directories (each ending with a slash)."""
    wanted: Set[str] = set()
    for path in paths:
        wanted.add(path)
        parent = os.path.dirname(path.rstrip("/"))
        while parent:
            wanted.add(parent + "/")
            parent = os.path.dirname(parent)
    return wanted


def make_dirs(path: str, mode: int = 0o777) -> None:
    """Create a directory and its parents; new ones get exactly `mode`.

    Users share the storage. A garbage collection task of another user could not delete from a
    directory that only its owner can write.
    """
    path = path.rstrip("/") or "/"
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        make_dirs(parent, mode)
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    os.chmod(path, mode)


@contextlib.contextmanager
def replacing(path: Union[str, os.PathLike[str]]) -> Iterator[str]:
    """Yield a temporary path; replace `path` with it if the block succeeds."""
    whole = os.fspath(path)
    partial = os.path.join(os.path.dirname(whole), f".{os.path.basename(whole)}.{os.getpid()}")
    os.makedirs(os.path.dirname(whole) or ".", exist_ok=True)
    try:
        yield partial
        os.replace(partial, whole)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def remove_tree(path: str, attempts: int = 5) -> None:
    """Remove a tree, with retries for network file systems, on which names may linger.

    Another process may remove the tree at the same time.

    Raises:
        OSError: the tree still exists after the last attempt.
    """
    import shutil
    import time

    options: Dict[str, Any] = {"onerror": lambda _call, _path, info: _unless_gone(info[1])}
    if sys.version_info >= (3, 12):
        options = {"onexc": lambda _call, _path, error: _unless_gone(error)}
    for left in reversed(range(attempts)):
        try:
            shutil.rmtree(path, **options)
        except OSError:
            if not left:
                raise
            time.sleep(0.2)
        else:
            return


def _unless_gone(error: BaseException) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _walk(
    root: str, spared: contextlib.AbstractContextManager[Any] = _NOTHING
) -> Iterator[tuple[str, int]]:
    """All entries below `root`; one whose error `spared` suppresses is skipped."""
    seen = {os.path.realpath(root)}
    pending: List[str] = [""]
    while pending:
        prefix = pending.pop()
        entries: List[os.DirEntry[str]] = []
        with spared:
            entries = list(os.scandir(os.path.join(root, prefix)))
        for entry in entries:
            path = prefix + entry.name
            if not entry.is_dir():
                size = None
                with spared:
                    size = entry.stat().st_size
                if size is not None:
                    yield path, size
                continue
            yield path + "/", 0
            real = os.path.realpath(entry.path)
            if real not in seen:
                seen.add(real)
                pending.append(path + "/")


def _pattern(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts), re.DOTALL)
