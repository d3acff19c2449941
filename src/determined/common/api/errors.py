"""Errors of calls to the master.

All except the cache errors derive from `BadRequestException` or `BadResponseException`, which
scripts catch.
"""

from __future__ import annotations

import re
from typing import Any


class BadRequestException(Exception):
    """The call failed; `message` has the reason."""

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message

    def __str__(self) -> str:
        return self.message


class BadResponseException(Exception):
    """The response of the master could not be used."""

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message

    def __str__(self) -> str:
        return self.message


class MasterNotFoundException(BadRequestException):
    """No master responded at the address."""


class InvalidRequestException(BadRequestException, ValueError):
    """The call cannot be sent, for its address, a header or a token has invalid characters."""


class APIException(BadRequestException):
    """The master refused the call.

    Args:
        response: an object with `status_code`, `json()` and `text`.

    `response_error` is the `error` of the response (a mapping or a text).
    """

    def __init__(self, response: Any, *args: Any) -> None:
        self.response_error = _error_of(response)
        self.status_code = int(response.status_code)
        super().__init__(_message_of(self.response_error, response), *args)


class NotFoundException(APIException):
    """The requested object does not exist."""

    def __init__(self, error_message: str) -> None:
        BadRequestException.__init__(self, error_message)
        self.response_error = {"error": error_message}
        self.status_code = 404


class WebPageException(APIException):
    """The server returned a web page instead of an API response."""

    def __init__(self, response: Any, master: str) -> None:
        super().__init__(response)
        found = re.search(r"<title>\s*(.*?)\s*</title>", response.text[:100_000], re.I | re.S)
        title = f", '{' '.join(found.group(1).split())[:80]}'" if found else ""
        where = f" at {master}" if master else ""
        self.message = (
            f"no master answered{where} but a web page (status {self.status_code}{title}): is "
            "this the master's address? Set it with -m or DET_MASTER."
        )


class ForbiddenException(BadRequestException):
    """The caller lacks a permission."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or "Forbidden: the caller lacks the permission for this.")


class UnauthenticatedException(BadRequestException):
    """The caller has no valid token."""

    def __init__(
        self,
        message: str = "Unauthenticated: log in with 'det user login <username>'.",
    ) -> None:
        super().__init__(message)


class InvalidCredentialsException(UnauthenticatedException):
    """The user name or password is wrong."""

    def __init__(self) -> None:
        super().__init__("Invalid username/password combination. Please try again.")


class CorruptTokenCacheException(Exception):
    """The token cache is invalid; the next login writes a new one."""

    def __init__(self, renamed: str = "") -> None:
        """
        Args:
            renamed: where the invalid file is now.
        """
        super().__init__(
            "The cache of login tokens was corrupted and has been renamed"
            f"{f' to {renamed}' if renamed else ''}: log in again with "
            "'det user login <username>'."
        )


class CorruptCertificateCacheException(Exception):
    """The cache of trusted certificates is invalid."""

    def __init__(self) -> None:
        super().__init__("The cache of trusted certificates was corrupted and has been renamed.")


class EmptyResultException(BadResponseException):
    """The response is unexpectedly empty."""


class DeleteFailedException(APIException):
    """The master could not delete everything."""

    def __init__(self, error_message: str) -> None:
        BadRequestException.__init__(self, error_message)
        self.response_error = {"error": error_message}
        self.status_code = 200


def _error_of(response: Any) -> Any:
    try:
        body = response.json()
    except ValueError:
        return response.text
    if isinstance(body, dict):
        return body.get("error", body.get("message", response.text))
    return response.text


def _message_of(error: Any, response: Any) -> str:
    if isinstance(error, dict):
        error = error.get("error") or error.get("message") or error.get("reason")
    return str(error) if error else f"the master answered with status {response.status_code}"
