"""Checkpoint storage."""

from determined.common.storage._build import base_path, build, from_string, of_argument
from determined.common.storage._files import list_directory, make_dirs, remove_tree
from determined.common.storage._manager import (
    DirectoryStorageManager,
    SharedFSStorageManager,
    StorageManager,
)

__all__ = [
    "DirectoryStorageManager",
    "SharedFSStorageManager",
    "StorageManager",
    "base_path",
    "build",
    "from_string",
    "list_directory",
    "make_dirs",
    "of_argument",
    "remove_tree",
]
