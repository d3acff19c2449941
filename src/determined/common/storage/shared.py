"""Storage in a shared file system, under its public name."""

from determined.common.storage._directory import SharedFSStorageManager

__all__ = ["SharedFSStorageManager"]
