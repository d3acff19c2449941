"""Storage in a directory, under its public name."""

from determined.common.storage._directory import DirectoryStorageManager

__all__ = ["DirectoryStorageManager"]
