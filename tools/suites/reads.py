"""Which files a run of a suite has read, by all its processes: by their times of access.

Sources of Python that are imported are seen by their imports (`references.py`): Python reads their
bytecode instead. Files that a suite reads in a clone of the checkout are not seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def reset_access_times(root: Path, files: Iterable[str]) -> None:
    """Set the times of access so far back that the next read of a file changes its time."""
    for file in files:
        path = root / file
        with suppress(FileNotFoundError):
            os.utime(path, ns=(0, path.stat(follow_symlinks=False).st_mtime_ns))


def files_read(root: Path, files: Iterable[str]) -> list[str]:
    """Files that were read since their times were set back."""
    read = []
    for file in files:
        with suppress(FileNotFoundError):
            if (root / file).stat(follow_symlinks=False).st_atime_ns > 0:
                read.append(file)
    return read


def are_access_times_kept(directory: Path) -> bool:
    """Whether this file system notes reads: one that is mounted with `noatime` does not."""
    probe = directory / ".access-time-probe"
    probe.write_text("probe")
    try:
        reset_access_times(directory, [probe.name])
        probe.read_text()
        return files_read(directory, [probe.name]) == [probe.name]
    finally:
        probe.unlink()
