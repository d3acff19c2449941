"""Trees of files: what is in them, and copying between them."""

from __future__ import annotations

import contextlib
import os
import re
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Set, Union

Selector = Optional[Callable[[str], bool]]
"""Whether to take a path, relative to the checkpoint's root; a directory's ends with a slash."""


def list_directory(root: str) -> Dict[str, int]:
    """Sizes in bytes of all files below `root`, by relative path.

    A directory's path ends with a slash and its size is 0. Links are followed, each
    directory once, so that a link into the tree cannot make it endless.

    Raises:
        ValueError: `root` is not a directory.
    """
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

    for left in reversed(range(attempts)):
        try:
            shutil.rmtree(path)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not os.path.lexists(path):
                return
            if not left:
                raise
            time.sleep(0.2)
        else:
            return


def _walk(root: str) -> Iterator[tuple[str, int]]:
    seen = {os.path.realpath(root)}
    pending: List[str] = [""]
    while pending:
        prefix = pending.pop()
        for entry in os.scandir(os.path.join(root, prefix)):
            path = prefix + entry.name
            if not entry.is_dir():
                yield path, entry.stat().st_size
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
