"""The one place where requests are let in: HTTP of both families, streams and sockets."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from determined_master.api.http import Http
from determined_master.domain.access import Caller
from determined_master.domain.errors import PermissionDenied, Unauthenticated
from determined_master.ports import Authenticator

BEARER = b"Bearer "
COOKIE = "auth"


class InactiveUser(PermissionDenied):
    """The token is good, its user is not: each family of routes has its own text for it."""

    def __init__(self) -> None:
        super().__init__("user does not have permission")


async def admit(http: Http, authenticator: Authenticator) -> Caller:
    """Find out who sends a request.

    Raises:
        Unauthenticated: there is no token, or it is not good.
        InactiveUser: it is the token of a user who was deactivated.
    """
    token = read_token(http)
    caller = await authenticator.authenticate(token) if token else None
    if caller is None:
        raise Unauthenticated("invalid credentials")
    if not caller.is_active:
        raise InactiveUser
    http.token = token
    return caller


def has_token(http: Http) -> bool:
    """Whether the request carries anything that is meant as a token."""
    return bool(http.authorization or http.allocation_token or http.cookie)


def read_token(http: Http) -> str:
    """The token of a request; empty when what was sent is not of a known form.

    Raises:
        Unauthenticated: nothing was sent.
    """
    sent = http.authorization or http.allocation_token
    if sent:
        return sent[len(BEARER) :].decode("latin-1") if sent.startswith(BEARER) else ""
    token = _cookie(http.cookie) if http.cookie else ""
    if not token:
        raise Unauthenticated("token missing")
    return token


def login_cookie(token: str, expires: str, *, is_secure: bool) -> bytes:
    """Value of `Set-Cookie` for a login; an empty token takes the cookie away."""
    secure = "; Secure" if is_secure else ""
    text = f"{COOKIE}={token}; Path=/; Expires={expires}; HttpOnly; SameSite=Lax{secure}"
    return text.encode()


def _cookie(header: bytes) -> str:
    try:
        morsel = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel is not None else ""
