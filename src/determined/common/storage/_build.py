"""Storage managers from a configuration's `checkpoint_storage`."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Union
from urllib.parse import urlsplit

from determined._constants import shared_fs_path
from determined.common.storage._directory import DirectoryStorageManager, SharedFSStorageManager
from determined.common.storage._manager import StorageManager

OBJECT_KINDS = ("s3", "gcs", "azure")


def build(
    config: Mapping[str, Any],
    shared_fs_root: Optional[str] = None,
    patience_s: Optional[float] = None,
) -> StorageManager:
    """The storage manager of a configuration.

    Args:
        config: the merged `checkpoint_storage`.
        shared_fs_root: the mount point of the host path; None for the task's own.
        patience_s: how long to retry failed requests to object storage; None for
            DET_STORAGE_RETRY_S, or two minutes.

    Raises:
        ValueError: the type is unknown, or a field is missing or invalid.
        CheckpointStorageError: object storage cannot be opened, or its client is not installed.
    """
    if config.get("type") in OBJECT_KINDS:
        return _of_bucket(config, patience_s)
    base = base_path(config, shared_fs_root)
    if config.get("type") == "shared_fs":
        return SharedFSStorageManager(base)
    return DirectoryStorageManager(base)


def base_path(config: Mapping[str, Any], shared_fs_root: Optional[str] = None) -> str:
    """The directory that contains the checkpoints' directories.

    Raises:
        ValueError: the storage has no directory, or a field is missing or invalid.
    """
    kind = config.get("type")
    if kind == "directory":
        return str(_field(config, "container_path"))
    if kind == "shared_fs":
        root = shared_fs_path() if shared_fs_root is None else shared_fs_root
        return _below(root, str(_field(config, "host_path")), config.get("storage_path"))
    raise ValueError(
        f"checkpoint_storage.type must be one of shared_fs, directory, s3, gcs, azure; "
        f"got {kind!r}"
    )


def from_string(text: str, is_on_cluster: bool) -> Dict[str, Any]:
    """A configuration from its short form: a path, or a file://, s3:// or gs:// address.

    A path is shared_fs on a cluster and a plain directory off it.

    Raises:
        ValueError: the scheme is unknown, or the address has a query, a fragment or a host.
    """
    parts = urlsplit(text)
    if parts.query or parts.fragment:
        raise ValueError(f"checkpoint storage {text!r}: query and fragment are not allowed")
    if parts.scheme in ("", "file"):
        if parts.netloc:
            raise ValueError(f"checkpoint storage {text!r}: a file address must not have a host")
        path = os.path.abspath(os.path.expanduser(parts.path))
        if is_on_cluster:
            return {"type": "shared_fs", "host_path": path}
        return {"type": "directory", "container_path": path}
    prefix = {"prefix": parts.path.strip("/")} if parts.path.strip("/") else {}
    if parts.scheme in ("s3", "gs"):
        kind = {"s3": "s3", "gs": "gcs"}[parts.scheme]
        return {"type": kind, "bucket": parts.netloc, **prefix}
    raise ValueError(f"checkpoint storage {text!r}: the scheme must be file, s3 or gs")


def of_argument(
    value: Union[str, os.PathLike[str], Mapping[str, Any]], is_on_cluster: bool
) -> Mapping[str, Any]:
    """Read the `checkpoint_storage` argument of `core.init`.

    Raises:
        ValueError: it is a mapping of type shared_fs, whose mount requires the experiment's
            configuration, or an invalid text.
        TypeError: it is not a path, a text or a mapping.
    """
    if isinstance(value, (str, os.PathLike)):
        return from_string(os.fspath(value), is_on_cluster)
    if not isinstance(value, Mapping):
        raise TypeError(
            f"checkpoint_storage must be a path, an address or a mapping, got {value!r}"
        )
    if value.get("type") == "shared_fs":
        raise ValueError(
            "checkpoint_storage of type shared_fs can only be set in the experiment's "
            "configuration, since its host path is mounted before the task starts; "
            "pass a path as text, or type directory"
        )
    return value


def _of_bucket(config: Mapping[str, Any], patience_s: Optional[float]) -> StorageManager:
    """Imports the client only if object storage is used."""
    from determined.common.storage._bucket import Bucket, region_of_bucket
    from determined.common.storage._objects import ObjectStorageManager
    from determined.common.storage._options import target_of

    env = dict(os.environ)
    if patience_s is not None:
        env["DET_STORAGE_RETRY_S"] = str(patience_s)
    target = target_of(config, env, region_of_bucket)
    return ObjectStorageManager(Bucket(target), target.prefix)


def _field(config: Mapping[str, Any], name: str) -> Any:
    value = config.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(
            f"checkpoint_storage.{name} must be a path for type {config['type']!r}, got {value!r}"
        )
    return value


def _below(root: str, host_path: str, storage_path: Optional[str]) -> str:
    """`root` joined with the storage path, which must be relative or inside the host path."""
    if not storage_path:
        return root
    relative = storage_path
    if os.path.isabs(storage_path):
        relative = os.path.relpath(storage_path, host_path)
    relative = os.path.normpath(relative)
    if relative == ".." or relative.startswith("../"):
        raise ValueError(
            f"checkpoint_storage.storage_path {storage_path!r} leads out of host_path "
            f"{host_path!r}"
        )
    return os.path.join(root, relative) if relative != "." else root
