"""Outcomes as text, for callers in other processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from determined_master.domain.errors import DetError
from determined_master.engine.errors import InternalError
from determined_master.engine.kind import Outcome


class _Stored(msgspec.Struct, omit_defaults=True):
    version: int = 0
    is_duplicate: bool = False
    error: str | None = None
    """The name of the error's class, if the event was refused."""
    message: str = ""


def encode_outcome(outcome: Outcome[Any] | Exception) -> str:
    """The text of an outcome or error; the state is not part of it."""
    if isinstance(outcome, Outcome):
        stored = _Stored(outcome.version, outcome.is_duplicate)
    else:
        stored = _Stored(error=type(outcome).__qualname__, message=str(outcome))
    return msgspec.json.encode(stored).decode()


def decode_outcome(text: str) -> Outcome[Any] | DetError:
    """The inverse; an error of an unknown class becomes an internal one."""
    stored = msgspec.json.decode(text, type=_Stored)
    if stored.error is None:
        return Outcome(stored.version, stored.is_duplicate)
    for error_type in _subclasses(DetError):
        if error_type.__qualname__ == stored.error:
            error = error_type.__new__(error_type)
            Exception.__init__(error, stored.message)
            return error
    return InternalError(stored.message)


def _subclasses(base: type[DetError]) -> Iterator[type[DetError]]:
    for child in base.__subclasses__():
        yield child
        yield from _subclasses(child)
