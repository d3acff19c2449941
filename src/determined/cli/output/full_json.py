"""Completes the master's answers for scripts: unset fields become null.

The master omits unset `optional` fields, but the JSON output of 0.38.1 contains them. Unknown
fields of a newer master are kept.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type

from determined.common.api import bindings
from determined.common.api.messages import Message


def completed(name: str, data: Any) -> Any:
    """Complete the data of a message, or of a list of messages, by the message's name."""
    kind: Type[Message] = getattr(bindings, name)
    return [of(kind, item) for item in data] if isinstance(data, list) else of(kind, data)


def of(kind: Type[Message], data: Mapping[str, Any]) -> Dict[str, Any]:
    """Complete the data of a message and of its nested messages."""
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
