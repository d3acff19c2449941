"""The one table from errors to what clients see of them, and its two forms."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from determined_master.domain.errors import DetError, ErrorCode

TABLE: dict[ErrorCode, tuple[int, str, int]] = {
    "invalid_argument": (3, "InvalidArgument", 400),
    "deadline_exceeded": (4, "DeadlineExceeded", 504),
    "not_found": (5, "NotFound", 404),
    "already_exists": (6, "AlreadyExists", 409),
    "permission_denied": (7, "PermissionDenied", 403),
    "resource_exhausted": (8, "ResourceExhausted", 429),
    "too_large": (8, "ResourceExhausted", 413),
    "failed_precondition": (9, "FailedPrecondition", 400),
    "aborted": (10, "Aborted", 409),
    "out_of_range": (11, "OutOfRange", 400),
    "unimplemented": (12, "Unimplemented", 501),
    "internal": (13, "Internal", 500),
    "unavailable": (14, "Unavailable", 503),
    "bad_gateway": (14, "Unavailable", 502),
    "unauthenticated": (16, "Unauthenticated", 401),
}
"""Code of an error -> its number and reason in the body, the HTTP status."""


def status_of(error: DetError) -> int:
    """The HTTP status of an error."""
    return TABLE[error.code][2]


def gateway_body(error: DetError) -> bytes:
    """Body of an error of `/api/v1`."""
    number, reason, _ = TABLE[error.code]
    return route_body(number, reason, error.text)


def route_body(number: int, reason: str, text: str) -> bytes:
    """The same where the status is not in the table: a wrong method, a wrong form."""
    detail = {"code": number, "reason": reason, "error": text}
    return msgspec.json.encode({"error": detail}) + b"\n"


def stream_body(error: DetError) -> bytes:
    """An error at the start of a stream or inside it."""
    number, _, status = TABLE[error.code]
    detail = {
        "grpcCode": number,
        "httpCode": status,
        "message": error.text,
        "httpStatus": HTTPStatus(status).phrase,
        "details": [],
    }
    return msgspec.json.encode({"error": detail})


def plain_body(text: str) -> bytes:
    """Body of an error of every other route."""
    return msgspec.json.encode({"message": text}) + b"\n"
