"""What can go wrong in a call to the master.

All but the cache errors derive from `BadRequestException` or `BadResponseException`, the names
that scripts catch.
"""

from __future__ import annotations

import re
from typing import Any


class BadRequestException(Exception):
    """The call failed; `message` says why."""

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message

    def __str__(self) -> str:
        return self.message


class BadResponseException(Exception):
    """The master answered, and the answer could not be used."""

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message

    def __str__(self) -> str:
        return self.message


class MasterNotFoundException(BadRequestException):
    """No master answered at the address."""


class APIException(BadRequestException):
    """The master refused the call.

    Args:
        response: the answer, with `status_code`, `json()` and `text`.

    `response_error` is the answer's `error` (a mapping or a text), `status_code` its status.
    """

    def __init__(self, response: Any, *args: Any) -> None:
        self.response_error = _error_of(response)
        self.status_code = int(response.status_code)
        super().__init__(_message_of(self.response_error, response), *args)


class NotFoundException(APIException):
    """The thing named by the call is not there."""

    def __init__(self, error_message: str) -> None:
        BadRequestException.__init__(self, error_message)
        self.response_error = {"error": error_message}
        self.status_code = 404


class WebPageException(APIException):
    """What answered has a page for browsers where a master has an answer."""

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
    """The caller may not do that."""

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
    """User name and password do not fit."""

    def __init__(self) -> None:
        super().__init__("Invalid username/password combination. Please try again.")


class CorruptTokenCacheException(Exception):
    """The file of cached tokens cannot be read; logging in again writes a new one."""

    def __init__(self) -> None:
        super().__init__(
            "The cache of login tokens was corrupted and has been set aside: log in again with "
            "'det user login <username>'."
        )


class CorruptCertificateCacheException(Exception):
    """The file of trusted certificates cannot be read."""

    def __init__(self) -> None:
        super().__init__("The cache of trusted certificates was corrupted and has been set aside.")


class EmptyResultException(BadResponseException):
    """Something was expected and nothing came."""


class DeleteFailedException(APIException):
    """The master took the call and could not delete everything."""

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
