"""JSON files of the client that several commands change at the same time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
from typing import Any, Callable, Dict, Iterator


def config_path() -> pathlib.Path:
    """The directory of the client's files: `$XDG_CONFIG_HOME/determined`."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return pathlib.Path(home) / "determined"


@contextlib.contextmanager
def change(path: pathlib.Path, read: Callable[[], Dict[str, Any]]) -> Iterator[Dict[str, Any]]:
    """A document to change in place. It replaces the file, which only its owner can read.

    A lock lets one command change it at a time, so no change is lost. If the block raises an
    error, the file stays.

    Args:
        path: the file; missing directories are created.
        read: its document.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = read()
        yield document
        draft = f"{path}.{os.getpid()}.new"
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=4, sort_keys=True)
        os.replace(draft, str(path))
    finally:
        os.close(lock)
