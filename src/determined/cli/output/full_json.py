"""Answers of the master with every name that scripts know: what is unset as null.

The master leaves out what is `optional` and unset; the JSON that commands print has always had
it. Names that a message does not have, of a newer master, stay.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type

from determined.common.api import bindings
from determined.common.api.messages import Message


def named(name: str, data: Any) -> Any:
    """Data of the message of that name, or a list of such."""
    kind: Type[Message] = getattr(bindings, name)
    return [of(kind, item) for item in data] if isinstance(data, list) else of(kind, data)


def of(kind: Type[Message], data: Mapping[str, Any]) -> Dict[str, Any]:
    """Data of a message, and of the messages in it."""
    full = dict(data)
    for _, name, form, container, target in kind.FIELDS:
        value = full.setdefault(name)
        if form == "message" and value is not None:
            full[name] = _inner(target or kind, container, value)
    return full


def _inner(kind: Optional[Type[Message]], container: str, value: Any) -> Any:
    assert kind is not None
    if container == "list":
        return [of(kind, item) for item in value]
    if container == "map":
        return {key: of(kind, item) for key, item in value.items()}
    return of(kind, value)
