"""Values of user code as JSON holds them."""

from __future__ import annotations

import datetime
import enum
import math
import sys
from typing import Any


class NotSerializable(TypeError):
    """JSON has no form for a value."""

    def __init__(self, value: Any) -> None:
        kind = type(value)
        self.kind = f"{kind.__module__}.{kind.__qualname__}"
        super().__init__(f"a value of type {self.kind} has no form in JSON")


def plain(value: Any) -> Any:
    """A value as JSON holds it.

    Numpy's numbers and arrays, tensors and other numbers become Python's, NaN and the infinities
    texts, bytes the UTF-8 text they are, instants their ISO form, members of enumerations their
    names, UUIDs texts, and what has `__json__()` what that returns.

    Raises:
        NotSerializable: the value, or one inside it, is of a kind that JSON cannot hold.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {plain_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's numbers and arrays, and tensors
        listed = value.tolist()
        if isinstance(listed, complex):
            raise NotSerializable(value)
        return plain(listed)
    return _plain_rare(value)


def plain_key(key: Any) -> str:
    """A key as JSON holds it: numbers and the like as text."""
    if isinstance(key, str):
        return key
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def _plain_rare(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise NotSerializable(value) from None
    uuid = sys.modules.get("uuid")  # who has one has loaded it; nobody else has to
    if uuid is not None and isinstance(value, uuid.UUID):
        return str(value)
    if hasattr(value, "__json__"):
        return plain(value.__json__())
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return plain(float(value))
    raise NotSerializable(value)
