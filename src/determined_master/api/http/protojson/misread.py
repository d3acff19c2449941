"""A value that its field does not accept, reported with its position."""

from __future__ import annotations

from typing import Literal, Self

from determined_master.domain.errors import InvalidArgument

Place = Literal["field", "parameter"]


class Misread(InvalidArgument):
    """The problem of a value in words that clients know, and the name it was given under."""

    def __init__(self, reason: str, place: Place, path: str) -> None:
        super().__init__(f"{reason} ({place} {path})")
        self.reason = reason
        self.path = path

    @classmethod
    def at(cls, error: InvalidArgument, place: Place, name: str) -> Self:
        """The error of a value under a name, which may be within another."""
        if isinstance(error, Misread):
            return cls(error.reason, place, f"{name}.{error.path}")
        return cls(error.text, place, name)
