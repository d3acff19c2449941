"""The one table from errors to what clients see of them, and its two forms."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from determined_master.domain.errors import DetError, ErrorCode

TABLE: dict[ErrorCode, tuple[int, int]] = {
    "InvalidArgument": (3, 400),
    "FailedPrecondition": (9, 400),
    "Unauthenticated": (16, 401),
    "PermissionDenied": (7, 403),
    "NotFound": (5, 404),
    "AlreadyExists": (6, 409),
    "ResourceExhausted": (8, 429),
    "Internal": (13, 500),
    "Unimplemented": (12, 501),
}
"""Name of a code -> its number, the HTTP status. Names are the `reason` of the body."""


def status_of(error: DetError) -> int:
    """The HTTP status of an error."""
    return TABLE[error.code][1]


def gateway_body(error: DetError) -> bytes:
    """Body of an error of `/api/v1`."""
    detail = {"code": TABLE[error.code][0], "reason": error.code, "error": error.text}
    return msgspec.json.encode({"error": detail}) + b"\n"


def stream_body(error: DetError) -> bytes:
    """An error at the start of a stream or inside it."""
    number, status = TABLE[error.code]
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
