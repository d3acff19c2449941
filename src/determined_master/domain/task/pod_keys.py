"""The keys of pods, in snake case or in camel case. PURE.

Everything that reads a user's pod reads it after `camel`, so that no spelling of a key passes a
check and still has an effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAIN_CONTAINER = "determined-container"
"""The task's own container."""
_FREE = frozenset(
    ("labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "data")
)
"""Maps with keys that users choose."""


def camel(value: Any) -> Any:
    """The keys of an object as Kubernetes spells them; keys of free maps stay unchanged."""
    if isinstance(value, Mapping):
        return {
            camel_key(str(key)): item
            if str(key) in _FREE or camel_key(str(key)) in _FREE
            # names that users choose keep their spelling
            else camel(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [camel(item) for item in value]
    return value


def camel_key(key: str) -> str:
    """A key as Kubernetes spells it."""
    first, *others = key.split("_")
    return first + "".join(part.capitalize() for part in others)


def find_key_given_twice(value: Any) -> str | None:
    """The first key that an object inside a pod has in two spellings; the order would decide."""
    if isinstance(value, Mapping):
        seen = set()
        for key, item in value.items():
            name = camel_key(str(key))
            if name in seen:
                return name
            seen.add(name)
            found = None if name in _FREE else find_key_given_twice(item)
            if found:
                return found
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(find_key_given_twice, value)), None)
    return None
