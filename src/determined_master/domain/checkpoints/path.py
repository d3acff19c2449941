"""Where the files of a checkpoint are, for readers outside of its task."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple

from determined_master.domain.checkpoints.access import is_below
from determined_master.domain.errors import FailedPrecondition, Unimplemented


class CheckpointPath(NamedTuple):
    """A directory of a storage, and the root that it lies below."""

    root: str
    path: str


def checkpoint_path(storage: Mapping[str, Any], uuid: str) -> CheckpointPath:
    """The directory of a checkpoint in a storage of directories; errors as `base_path`.

    Args:
        storage: a completed `checkpoint_storage` section.
        uuid: of the checkpoint, in its usual form.
    """
    root, base = base_path(storage, f"checkpoint {uuid}")
    return CheckpointPath(root, posixpath.join(base, uuid))


def base_path(storage: Mapping[str, Any], what: str) -> CheckpointPath:
    """The directory that all files of a storage of directories are below.

    A relative `storage_path` is below `host_path`; an absolute one is used as it is. `directory`
    is the same path in every container and in the master.

    Args:
        storage: a completed `checkpoint_storage` section.
        what: the files that are looked for, for errors.

    Raises:
        Unimplemented: the storage is of an unknown kind. FailedPrecondition: a section of an older
            release leads out of its root.
    """
    kind = storage.get("type")
    if kind not in ("shared_fs", "directory"):
        raise Unimplemented(f"the master does not read {kind} storage: {what}")
    given = storage.get("host_path" if kind == "shared_fs" else "container_path")
    inner = storage.get("storage_path") if kind == "shared_fs" else None
    if not isinstance(given, str) or not isinstance(inner, str | None):
        raise FailedPrecondition(f"the {kind} storage of {what} has no valid paths")
    root = posixpath.normpath(given)
    base = posixpath.normpath(posixpath.join(root, inner or ""))
    if not root.startswith("/") or not is_below(base, root):
        raise FailedPrecondition(f"the {kind} storage of {what} leads out of {given}: {inner}")
    return CheckpointPath(root, base)


def manifest_name(uuid: str) -> str:
    """The path of a checkpoint's manifest, beside its directory."""
    return f"{uuid}.manifest.json"
