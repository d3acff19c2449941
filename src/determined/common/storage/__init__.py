"""Checkpoint storage."""

from determined.common.storage._build import (
    OBJECT_KINDS,
    base_path,
    build,
    from_string,
    of_argument,
)
from determined.common.storage._copy import Progress, writing
from determined.common.storage._directory import DirectoryStorageManager, SharedFSStorageManager
from determined.common.storage._files import list_directory, make_dirs, remove_tree
from determined.common.storage._manager import StorageManager, manifest_of
from determined.common.storage._manifest import (
    Entries,
    Entry,
    Manifest,
    manifest_name,
    parse_manifest,
)
from determined.common.storage._threads import Halt, each
from determined.common.storage.base import Paths, Selector
from determined.errors import CheckpointStorageError

_MODULE_OF = {
    "AzureStorageManager": "azure",
    "CloudStorageManager": "cloud",
    "GCSStorageManager": "gcs",
    "S3StorageManager": "s3",
}

__all__ = [
    "CheckpointStorageError",
    "DirectoryStorageManager",
    "Entries",
    "Entry",
    "Halt",
    "Manifest",
    "OBJECT_KINDS",
    "Paths",
    "Progress",
    "Selector",
    "SharedFSStorageManager",
    "StorageManager",
    "base_path",
    "build",
    "each",
    "from_string",
    "list_directory",
    "make_dirs",
    "manifest_name",
    "manifest_of",
    "of_argument",
    "parse_manifest",
    "remove_tree",
    "writing",
]


def __getattr__(name: str) -> object:
    # The clients of object storage are imported only where it is used.
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"determined.common.storage.{_MODULE_OF[name]}"), name)
