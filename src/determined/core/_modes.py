"""Arguments of the Core API that take a member of an enumeration."""

from __future__ import annotations

import enum
from typing import Any, Type, TypeVar

E = TypeVar("E", bound=enum.Enum)


class TensorboardMode(enum.Enum):
    """How TensorBoard files get to the storage.

    AUTO: the chief writes its metrics as event files and uploads them. MANUAL: user code does.
    """

    AUTO = "AUTO"
    MANUAL = "MANUAL"


def choice(kind: Type[E], value: Any, name: str) -> E:
    """The enumeration member for an argument: the member itself, or its value as text.

    Args:
        name: the argument's name, for the error.

    Raises:
        ValueError: there is no such member.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise ValueError(f"{name} must be one of {known}; got {value!r}") from None
