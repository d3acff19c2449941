"""Trees of files: what is in them, and copying between them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Union

Selector = Optional[Callable[[str], bool]]
"""Whether to take a path, relative to the checkpoint's root; a directory's ends with a slash."""
_NOTHING = contextlib.nullcontext()


def list_directory(root: str, *, is_shrinking: bool = False) -> Dict[str, int]:
    """Sizes in bytes of all files below `root`, by relative path.

    A directory's path ends with a slash and its size is 0. Links are followed, each
    directory once, so that a link into the tree cannot make it endless.

    Args:
        root: the directory.
        is_shrinking: somebody may delete of it meanwhile: what goes is left out.

    Raises:
        ValueError: `root` is not a directory.
        FileNotFoundError: something went while it was listed.
    """
    if is_shrinking:
        return dict(_walk(root, contextlib.suppress(FileNotFoundError)))
    if not os.path.isdir(root):
        raise ValueError(f"checkpoint directory {root!r} is not a directory")
    return dict(_walk(root))


def matches_any(path: str, globs: Iterable[str]) -> bool:
    """Whether a relative path fits one of the patterns; `**` reaches over directories."""
    return any(_pattern(glob).fullmatch(path.rstrip("/")) for glob in globs)


def with_parents(paths: Iterable[str]) -> Set[str]:
    """The paths and all directories above them (each ending with a slash)."""
    wanted: Set[str] = set()
    for path in paths:
        wanted.add(path)
        parent = os.path.dirname(path.rstrip("/"))
        while parent:
            wanted.add(parent + "/")
            parent = os.path.dirname(parent)
    return wanted


def make_dirs(path: str, mode: int = 0o777) -> None:
    """Make a directory and those above it; the new ones get exactly `mode`.

    Storage is shared by users: a directory that only one of them may write could not be
    collected by another's task.
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
    """A path to write a file at, which takes the place of `path` if nothing goes wrong."""
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
    """Remove a tree; on network file systems names may linger, so it is tried again.

    Somebody else may remove it at the same time: what they leave is removed here.

    Raises:
        OSError: it is still there after the last attempt.
    """
    import shutil
    import time

    goes_on: Dict[str, Any] = {"onerror": lambda _call, _path, info: _unless_gone(info[1])}
    if sys.version_info >= (3, 12):
        goes_on = {"onexc": lambda _call, _path, error: _unless_gone(error)}
    for left in reversed(range(attempts)):
        try:
            shutil.rmtree(path, **goes_on)
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
    """All below `root`; errors that `spared` holds back cost that one entry."""
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
