"""Where the files of a checkpoint are, for readers outside of its task."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from determined_master.domain.errors import Unimplemented


def checkpoint_directory(storage: Mapping[str, Any], uuid: str) -> str:
    """The directory of a checkpoint in a storage of directories.

    A relative `storage_path` is below `host_path`; an absolute one is used as it is. `directory`
    is the same path in every container and in the master.

    Args:
        storage: a completed `checkpoint_storage` section.
        uuid: of the checkpoint, in its usual form.

    Raises:
        Unimplemented: the storage is of an unknown kind.
    """
    kind = storage.get("type")
    if kind == "shared_fs":
        base = posixpath.join(storage["host_path"], storage.get("storage_path") or "")
    elif kind == "directory":
        base = storage["container_path"]
    else:
        raise Unimplemented(f"the master does not read {kind} storage: checkpoint {uuid}")
    return posixpath.join(posixpath.normpath(base), uuid)


def manifest_name(uuid: str) -> str:
    """The path of a checkpoint's manifest, beside its directory."""
    return f"{uuid}.manifest.json"
