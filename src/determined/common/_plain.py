"""Conversion of user values to JSON-compatible ones."""

from __future__ import annotations

import datetime
import enum
import math
import sys
from typing import Any


class NotSerializable(TypeError):
    """JSON cannot represent a value."""

    def __init__(self, value: Any) -> None:
        kind = type(value)
        self.kind = f"{kind.__module__}.{kind.__qualname__}"
        super().__init__(f"JSON cannot represent a value of type {self.kind}")


def plain(value: Any) -> Any:
    """Convert a value to JSON-compatible types.

    - NumPy numbers and arrays, tensors and other numbers: Python numbers and lists
    - NaN and infinities: text
    - bytes: UTF-8 text
    - datetimes: ISO 8601 text
    - enumeration members: their names
    - UUIDs: text
    - objects with `__json__()`: its result

    Raises:
        NotSerializable: JSON cannot represent the value, or one inside it.
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
    if hasattr(value, "tolist"):  # NumPy numbers and arrays, and tensors
        listed = value.tolist()
        if isinstance(listed, complex):
            raise NotSerializable(value)
        return plain(listed)
    return _plain_rare(value)


def plain_key(key: Any) -> str:
    """Convert a key to text."""
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
    uuid = sys.modules.get("uuid")  # a UUID can exist only if the module is loaded
    if uuid is not None and isinstance(value, uuid.UUID):
        return str(value)
    if hasattr(value, "__json__"):
        return plain(value.__json__())
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return plain(float(value))
    raise NotSerializable(value)
