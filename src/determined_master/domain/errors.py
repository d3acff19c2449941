"""Errors that a user can cause: one base, each error with a stable code."""

from __future__ import annotations

from typing import ClassVar, Literal

ErrorCode = Literal[
    "invalid_argument",
    "not_found",
    "already_exists",
    "permission_denied",
    "unauthenticated",
    "failed_precondition",
    "aborted",
    "out_of_range",
    "resource_exhausted",
    "too_large",
    "unimplemented",
    "unavailable",
    "bad_gateway",
    "deadline_exceeded",
    "internal",
]


PASSING: frozenset[ErrorCode] = frozenset({"unavailable", "deadline_exceeded", "internal"})
"""Codes of transient errors: the same request may succeed later."""


class DetError(Exception):
    """An expected failure. Its text has the thing, the value and the remedy."""

    code: ClassVar[ErrorCode] = "internal"

    @property
    def text(self) -> str:
        return str(self)


class InvalidArgument(DetError):
    """A value that the caller gave cannot be used."""

    code = "invalid_argument"


class NotFound(DetError):
    """The thing that was named does not exist, or the caller may not see it."""

    code = "not_found"


class AlreadyExists(DetError):
    """A thing of that name exists already."""

    code = "already_exists"


class PermissionDenied(DetError):
    """The caller may see the thing but not do this to it."""

    code = "permission_denied"


class RoleMissing(PermissionDenied):
    """No role of the caller gives the permission in the workspace of the thing."""

    def __init__(self, text: str, workspace_id: int | None) -> None:
        super().__init__(text)
        self.workspace_id = workspace_id
        """None for a thing outside of all workspaces."""


class Unauthenticated(DetError):
    """The request has no token, or the token is not valid any more."""

    code = "unauthenticated"


class FailedPrecondition(DetError):
    """The state of the thing does not allow this."""

    code = "failed_precondition"


class Aborted(DetError):
    """Something changed during the request; the caller may send it again."""

    code = "aborted"


class Unavailable(DetError):
    """Not possible now: the same request may succeed later."""

    code = "unavailable"


class BadGateway(DetError):
    """A server behind the master's proxy does not answer."""

    code = "bad_gateway"


class ResourceExhausted(DetError):
    """A limit was exceeded; the text contains the limit and the request."""

    code = "resource_exhausted"


class TooLarge(DetError):
    """A request is over the limit of its size."""

    code = "too_large"


class Unimplemented(DetError):
    """A known request that this master does not serve."""

    code = "unimplemented"


class Internal(DetError):
    """A fault of the master that its user needs to see."""

    code = "internal"
