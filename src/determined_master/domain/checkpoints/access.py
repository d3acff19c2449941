"""Which storages the master reads itself. Tasks read theirs with their own rights."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from determined_master.domain.checkpoints.object_target import ObjectTarget
from determined_master.domain.errors import FailedPrecondition

DIRECT = "or download from the storage itself (--mode direct)"
_PLACE = {
    "shared_fs": ("host_path",),
    "directory": ("container_path",),
    "s3": ("bucket", "endpoint_url"),
    "gcs": ("bucket",),
    "azure": ("container", "connection_string", "account_url"),
}
_SCHEMES = {"s3": "s3", "gcs": "gs"}


class StorageAccess(msgspec.Struct, frozen=True):
    """What an admin allows.

    Attributes:
        own: the storage of the master's settings.
        allowed_endpoints: endpoints at any address, as URLs; and buckets that the master reads
            with its own credentials, as s3://BUCKET or gs://BUCKET.
        allowed_host_paths: directories below which a storage may be; None for all.
    """

    own: Mapping[str, Any] | None = None
    allowed_endpoints: Sequence[str] = ()
    allowed_host_paths: Sequence[str] | None = None

    def is_own(self, storage: Mapping[str, Any]) -> bool:
        """Whether a storage is at the place that the master's settings name."""
        kind = storage.get("type")
        if self.own is None or kind not in _PLACE or kind != self.own.get("type"):
            return False
        return all(storage.get(key) == self.own.get(key) for key in _PLACE[kind])

    def roots_of(self, storage: Mapping[str, Any]) -> Sequence[str] | None:
        """Directories below which a storage must be; None for all."""
        return None if self.is_own(storage) else self.allowed_host_paths

    def check_directory(self, storage: Mapping[str, Any], root: str) -> None:
        """Check a storage of directories below `root`.

        Raises:
            FailedPrecondition: it is outside the directories that the admin allows.
        """
        roots = self.roots_of(storage)
        clean = posixpath.normpath(root)
        if roots is not None and not any(is_below(clean, allowed) for allowed in roots):
            raise FailedPrecondition(
                f"the master does not read the checkpoint storage {clean}: it is not below a "
                "directory in task_container_defaults.allowed_host_paths; ask an admin to add it, "
                f"{DIRECT}"
            )

    def check_credentials(self, storage: Mapping[str, Any], target: ObjectTarget) -> None:
        """Check that a bucket has keys of its own, or may be read with those of the master.

        Raises:
            FailedPrecondition: it has none, and is not named by an admin.
        """
        if self.is_own(storage) or target.has_keys:
            return
        name = f"{_SCHEMES[target.kind]}://{target.name}" if target.kind in _SCHEMES else ""
        if name and name in {entry.rstrip("/") for entry in self.allowed_endpoints}:
            return
        raise FailedPrecondition(
            f"the checkpoint storage {target.address} has no keys, and the master uses its own "
            "only for the storage of its settings: give the storage keys, ask an admin to add "
            f"{name or 'it'} to checkpoint_storage.allowed_endpoints, {DIRECT}"
        )

    def is_allowed_endpoint(self, url: str) -> bool:
        """Whether an admin has named an endpoint, so that it may have any address."""
        wanted = _origin(url)
        return any(_origin(entry) == wanted for entry in self.allowed_endpoints)


def is_below(path: str, directory: str) -> bool:
    """Whether a normalized absolute path is a directory or below it."""
    top = posixpath.normpath(directory)
    return path == top or path.startswith(top.rstrip("/") + "/")


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url if "://" in url else f"https://{url}")
    port = parts.port or (80 if parts.scheme == "http" else 443)
    return parts.scheme, (parts.hostname or "").lower(), port
