"""Deletion below a directory by descriptors: links are deleted, never followed.

Users share a storage. A link of one user must not lead the deletion of another user's task to
files outside of the checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import Dict, Iterable, Iterator

ATTEMPTS = 5
PAUSE_S = 0.2
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def list_own(base: str, path: str) -> Dict[str, int]:
    """Sizes in bytes of the entries below `base/path`, by relative path.

    A directory's path ends with a slash and its size is 0. A link is an entry of its own. Entries
    that are deleted during the listing are left out.
    """
    found: Dict[str, int] = {}
    with contextlib.suppress(FileNotFoundError), _open(base, path) as fd:
        for folder, folders, files, at in os.fwalk(".", onerror=_unless_gone, dir_fd=fd):
            for name in folders + files:
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=at, follow_symlinks=False)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    whole = os.path.normpath(f"{folder}/{name}")
                    found[f"{whole}/" if is_folder else whole] = 0 if is_folder else status.st_size
    return found


def delete_entries(base: str, path: str, entries: Iterable[str]) -> None:
    """Delete files, and directories that are empty, by their paths below `base/path`.

    Raises:
        OSError: a file cannot be deleted.
    """
    for entry in sorted(entries, key=lambda entry: -entry.count("/")):
        folder, name = os.path.split(f"{path}/{entry.rstrip('/')}")
        with contextlib.suppress(FileNotFoundError), _open(base, folder) as fd:
            if not entry.endswith("/"):
                os.unlink(name, dir_fd=fd)
                continue
            with contextlib.suppress(OSError):  # not empty
                os.rmdir(name, dir_fd=fd)


def delete_tree(base: str, path: str) -> None:
    """Delete `base/path` and everything below it, with retries for network file systems.

    Another process may delete it at the same time.

    Raises:
        OSError: it still exists after the last attempt.
    """
    folder, name = os.path.split(path)
    for left in reversed(range(ATTEMPTS)):
        try:
            with contextlib.suppress(FileNotFoundError), _open(base, folder) as fd:
                _delete(name, fd)
        except OSError:
            if not left:
                raise
            time.sleep(PAUSE_S)
        else:
            return


def _delete(name: str, parent: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
            return
        fd = os.open(name, _DIRECTORY, dir_fd=parent)
        try:
            for entry in os.listdir(fd):
                _delete(entry, fd)
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=parent)


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


@contextlib.contextmanager
def _open(base: str, path: str) -> Iterator[int]:
    """A descriptor of the directory `base/path`; the parts of `path` are no links."""
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in path.split("/"):
            if part not in ("", "."):
                child = os.open(part, _DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = child
        yield fd
    finally:
        os.close(fd)
