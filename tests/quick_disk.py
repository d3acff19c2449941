"""Where databases of tests lie: in memory where it has room, as none of them outlives its run.

A file system in memory has nothing to write out: a test does not wait for the disk at each
commit, at each database that is made, and at the end of each server. What a killed process leaves
behind is the same in both; what a power failure leaves behind is tested nowhere.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")
_DISK = Path("/tmp")
"""Not the variable TMPDIR: paths of sockets are short, and another user must be able to pass."""
_ROOM_BYTES = 4 << 30
PLACES = (_DISK, _MEMORY)


def quick_directory(prefix: str) -> Path:
    """An empty directory that every user may pass; whoever asks removes it."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=_MEMORY if _has_room(_MEMORY) else _DISK))
    made.chmod(0o711)
    return made


def _has_room(place: Path) -> bool:
    """Whether many databases fit in there; containers often have 64 MiB."""
    if not os.access(place, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize >= _ROOM_BYTES
