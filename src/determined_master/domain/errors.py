"""Errors that a user can cause, named for what went wrong and not for a status."""

from __future__ import annotations

from typing import ClassVar, Literal

ErrorCode = Literal[
    "InvalidArgument",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Unimplemented",
    "Internal",
    "Unauthenticated",
]


class DetError(Exception):
    """Base of all errors that are told to the user who caused them.

    The text names the thing, the value and the remedy. Callers branch on the class, or on
    `code`, never on the text.
    """

    code: ClassVar[ErrorCode] = "Internal"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class InvalidArgument(DetError):
    """The request can never succeed as it stands."""

    code = "InvalidArgument"


class FailedPrecondition(DetError):
    """The request is sound but the thing is in a state that forbids it."""

    code = "FailedPrecondition"


class NotFound(DetError):
    """There is no such thing, or the caller may not know of it."""

    code = "NotFound"


class AlreadyExists(DetError):
    """Another thing has that name already."""

    code = "AlreadyExists"


class PermissionDenied(DetError):
    """The caller is known and may not do this."""

    code = "PermissionDenied"


class Unauthenticated(DetError):
    """No token, or one that is not good any more."""

    code = "Unauthenticated"


class ResourceExhausted(DetError):
    """A limit was met; the text gives the limit and what was asked."""

    code = "ResourceExhausted"


class Unimplemented(DetError):
    """A known request that this master does not serve."""

    code = "Unimplemented"


class Internal(DetError):
    """A fault of the master that its user should nevertheless read about."""

    code = "Internal"
