"""Errors of file system storage, with their cause and a remedy."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Iterator, Optional

from determined.errors import CheckpointStorageError

FULL = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_GONE = (errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.EHOSTDOWN, errno.ENODEV, errno.ENOENT)
MAKE_ROOM = (
    "Delete unneeded checkpoints (det checkpoint delete, or smaller save_* counts in "
    "checkpoint_storage) or enlarge the storage"
)


@contextlib.contextmanager
def named(act: str, place: str) -> Iterator[None]:
    """Convert OSError to CheckpointStorageError.

    Args:
        act: the action, such as "storing weights.bin".
        place: the storage's directory.
    """
    try:
        yield
    except CheckpointStorageError:
        raise
    except OSError as error:
        raise explained(error, act, place) from error


def explained(error: OSError, act: str, place: str) -> CheckpointStorageError:
    """The error with its storage and a remedy."""
    reason = error.strerror or str(error)
    number = error.errno
    if number in FULL:
        text = f"the checkpoint storage {place} is full{_free(place)}: {act} failed ({reason}). "
        return CheckpointStorageError(number, text + MAKE_ROOM)
    if number == errno.EFBIG:
        remedy = "Raise the limit on the size of files (ulimit -f), or store smaller files"
        text = f"{act} in the checkpoint storage {place} failed ({reason}). {remedy}"
    elif number in _DENIED:
        remedy = "Check that the task's user can write there, and that it is not mounted read-only"
        text = f"{act} in the checkpoint storage {place} failed ({reason}). {remedy}"
    elif number in _GONE:
        remedy = "Check that the file system is mounted and accessible on this machine"
        text = (
            f"the checkpoint storage {place} is not available: {act} failed ({reason}). {remedy}"
        )
    else:
        text = f"{act} in the checkpoint storage {place} failed ({reason})"
    return CheckpointStorageError(number, text)


def _free(place: str) -> str:
    free = _free_bytes(place)
    return "" if free is None else f" ({free} bytes are free)"


def _free_bytes(place: str) -> Optional[int]:
    try:
        status = os.statvfs(place)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize
