"""The base of storage managers, under its public name."""

from __future__ import annotations

from typing import Callable, Set

from determined.common.storage._manager import StorageManager

Selector = Callable[[str], bool]
Paths = Set[str]

__all__ = ["Paths", "Selector", "StorageManager"]
