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
from determined.errors import CheckpointStorageError

__all__ = [
    "CheckpointStorageError",
    "DirectoryStorageManager",
    "Entries",
    "Entry",
    "Halt",
    "Manifest",
    "OBJECT_KINDS",
    "Progress",
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
