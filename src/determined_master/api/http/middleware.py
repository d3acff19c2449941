"""The one place where requests are authenticated: HTTP of both families, streams and sockets."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from determined_master.api.http import cookies
from determined_master.api.http.exchange import Http
from determined_master.api.http.prefix import path_prefix
from determined_master.api.http.reauthorization import CallerRecheck
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import PermissionDenied, Unauthenticated
from determined_master.ports.authentication import Authenticator

BEARER = b"Bearer "
JSON = "application/json"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class InactiveUser(PermissionDenied):
    """The token is good, its user is not: each family of routes has its own text for it."""

    def __init__(self, username: str) -> None:
        super().__init__(
            f"user does not have permission: user {username!r} is not active; an admin can "
            "activate it"
        )


async def admit(http: Http, authenticator: Authenticator) -> Caller:
    """Find out who sends a request.

    Raises:
        Unauthenticated: there is no token, or it is not good.
        InactiveUser: the token belongs to a deactivated user.
        PermissionDenied: the token is the login cookie, and another page may have sent it.
        TwoLogins: there are two login cookies.
    """
    token = read_token(http)
    caller = await caller_of(token, authenticator)
    if not (http.authorization or http.allocation_token):
        _check_cookie_request(http)
    http.token, http.user_id = token, caller.user_id
    return caller


async def caller_of(token: str, authenticator: Authenticator) -> Caller:
    """Whose token it is. Raises as `admit`."""
    caller = await authenticator.authenticate(token) if token else None
    if caller is None:
        raise Unauthenticated("invalid credentials")
    if not caller.is_active:
        raise InactiveUser(caller.username)
    return caller


class Entry(msgspec.Struct, frozen=True):
    """How a request to a task's service was authenticated."""

    caller: Caller | None = None
    """None where the service needs no user: it is open, or was shown its own token."""
    spent: frozenset[str] = frozenset()
    """The master's own tokens in the request, which are not for the service."""
    recheck: CallerRecheck | None = None
    """Of the caller, where there is one."""
    viewer_id: int = 0
    """The user of the cookie that came with the request, if no header held credentials; 0 for
    none."""
    viewer_token: str = ""
    """The viewer's."""
    is_alone: bool = False
    """Whether the service has an origin that it shares with nothing else."""
    framed_by: str = ""
    """The master's origin, if it is another one than that of the page."""


class SignIn(Unauthenticated):
    """A person can sign in and return to where this was raised."""

    def __init__(self, path: str, prefix: str = "") -> None:
        super().__init__("sign in first")
        self.location = f"{prefix}/det/login?redirect={prefix}{quote(path, safe='/:')}"


async def admit_to_service(
    http: Http,
    authenticator: Authenticator,
    *,
    is_open: bool,
    own_token: str,
    in_query: str = "",
    remembered: str = "",
    takes_cookie: bool = True,
) -> Entry:
    """Find out who sends a request to a task's service.

    A `Bearer` token that is not of the master may be the service's own, so the cookie is
    checked as well, and each token of a user is recorded in any case.

    Args:
        http: the request.
        authenticator: knows the tokens of users.
        is_open: whether the service needs none.
        own_token: a token in the request that the service has given out; empty for none.
        in_query: a possible user's token in the address. It admits nobody, because addresses are
            recorded in many places, but services must not see it either.
        remembered: the user's token that a request without one acts with; empty for none.
        takes_cookie: whether the login's cookie admits.

    Raises:
        SignIn: the tokens are invalid, or there is none and a page was requested.
        Unauthenticated: there is none.
        PermissionDenied: the token is the login cookie, and another page may have sent it.
        TwoLogins: there are two login cookies.
    """
    by_cookie = read_cookie(http) if takes_cookie else ""
    sent = [each for each in (_sent_to_service(http), by_cookie, remembered) if each]
    found = [await _find_caller(token, authenticator) for token in sent]
    queried = [] if own_token or not in_query else [await _find_caller(in_query, authenticator)]
    spent = frozenset(token for token, caller in (*found, *queried) if caller is not None)
    viewer, viewer_id = "", 0
    if not (http.authorization or http.allocation_token):
        active = [(t, c.user_id) for t, c in found if c is not None and c.is_active]
        viewer, viewer_id = active[0] if active else ("", 0)
    if is_open or own_token:
        return Entry(spent=spent, viewer_id=viewer_id, viewer_token=viewer)
    for token, caller in found:
        if caller is not None and caller.is_active:
            if token == by_cookie:
                check_origin(http)
            elif token == remembered and is_foreign(http):  # programs send no origin
                raise PermissionDenied(
                    f"a page of {http.header('origin') or 'another origin'} may not open the "
                    "service: open it from the master's own pages"
                )
            http.token = token
            return Entry(caller, spent, viewer_id=viewer_id, viewer_token=viewer)
    if found or "text/html" in http.header("accept"):
        path = http.raw_path.decode("latin-1") + (f"?{http.query}" if http.query else "")
        raise SignIn(path, path_prefix(http))
    raise Unauthenticated("token missing")


def has_token(http: Http) -> bool:
    """Whether the request carries anything that is meant as a token."""
    sent = http.authorization or http.allocation_token
    return bool(sent or any(cookies.values(http.cookie, name) for name in cookies.LOGIN_NAMES))


def read_token(http: Http) -> str:
    """The token of a request; empty if it has an unknown form.

    Raises:
        Unauthenticated: nothing was sent.
        TwoLogins: there are two login cookies.
    """
    sent = http.authorization or http.allocation_token
    if sent:
        return sent[len(BEARER) :].decode("latin-1") if sent.startswith(BEARER) else ""
    token = read_cookie(http)
    if not token:
        raise Unauthenticated("token missing")
    return token


def read_cookie(http: Http) -> str:
    """The token of the login cookie; empty without one.

    Raises:
        TwoLogins: there are two; the answer removes all but the master's own.
    """
    if not http.cookie:
        return ""
    is_browser = bool(http.header("sec-fetch-site") or http.header("sec-fetch-mode"))
    is_secure = http.is_secure or http.header("x-forwarded-proto") == "https"
    try:
        return cookies.login_token(http.cookie, is_secure_page=is_browser and is_secure)
    except cookies.TwoLogins:
        removals = cookies.expiries(http.raw_path.decode("latin-1"), http.header("host"))
        http.set_headers += [(b"set-cookie", each) for each in removals]
        raise


def _check_cookie_request(http: Http) -> None:
    check_origin(http)
    if is_unsafe(http) and has_body(http) and not is_json(http):
        raise PermissionDenied(
            f"a request with the login cookie must have the content type {JSON}, and this has "
            f"{http.header('content-type') or 'none'}"
        )


def check_origin(http: Http) -> None:
    """Check that a request with the login cookie comes from a page of the master itself.

    Browsers add the cookie to requests that pages of other ports and hosts of the same site make.

    Raises:
        PermissionDenied: a page of another origin sent it, or may have sent it and it changes
            something.
    """
    if is_foreign(http) or (is_unsafe(http) and not _names_its_page(http)):
        raise PermissionDenied(
            "a request with the login cookie must come from a page of the master if it changes "
            f"something or names its page (header Origin is {http.header('origin') or 'missing'}):"
            " scripts send the token as 'Authorization: Bearer TOKEN'"
        )


def is_foreign(http: Http) -> bool:
    """Whether a page of another origin made the request. Links that people follow do not count.

    Programs send none of these headers.
    """
    site = http.header("sec-fetch-site")
    if site == "same-origin":
        return False
    origin = http.header("origin")
    if not origin and is_unsafe(http):  # browsers of old send this one alone
        origin = http.header("referer")
    if origin:
        return origin.partition("://")[2].partition("/")[0] != http.header("host")
    return site in ("same-site", "cross-site") and (
        http.header("sec-fetch-mode") != "navigate" or is_unsafe(http)
    )


def _names_its_page(http: Http) -> bool:
    return bool(http.header("sec-fetch-site") == "same-origin" or http.header("origin"))


def is_unsafe(http: Http) -> bool:
    """Whether the request may change something; a WebSocket may."""
    return http.method not in SAFE or bool(http.header("upgrade"))


def has_body(http: Http) -> bool:
    """Whether the request has a body that is not empty."""
    return http.content_length > 0 or http.is_chunked


def is_json(http: Http) -> bool:
    """Whether the request says that its body is JSON."""
    return http.header("content-type").partition(";")[0].strip().lower() == JSON


def _sent_to_service(http: Http) -> str:
    """The part of header `Authorization` that may be a user's token; empty for none."""
    scheme, _, sent = http.authorization.decode("latin-1").partition(" ")
    return sent.strip() if scheme.lower() in ("bearer", "token") else ""


async def _find_caller(token: str, authenticator: Authenticator) -> tuple[str, Caller | None]:
    try:
        return token, await authenticator.authenticate(token)
    except Unauthenticated:  # revoked
        return token, None
