"""Logging in and out."""

from __future__ import annotations

from datetime import datetime

import msgspec

from determined_master.api.access.user_shapes import user_message
from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.cookies import (
    DEVICE,
    EXPIRED,
    LOGIN,
    LOGIN_NAMES,
    device_cookies,
    login_cookie,
    values,
)
from determined_master.api.http.middleware import is_foreign
from determined_master.api.http.plain import plain_json
from determined_master.api.http.prefix import path_prefix
from determined_master.api.http.routes import Call, Reply, plain_route, route
from determined_master.api.http.task_use import IDENTIFIES
from determined_master.domain.errors import (
    DetError,
    InvalidArgument,
    PermissionDenied,
    Unauthenticated,
)
from determined_master.services.access.auth import Auth, Login
from determined_master.services.access.login_limits import TooManyLogins
from determined_master.services.access.users import Users
from determined_wire.rest.auth import (
    CurrentUserRequest,
    CurrentUserResponse,
    LoginRequest,
    LoginResponse,
    LogoutRequest,
    LogoutResponse,
)


@route("POST", "/api/v1/auth/login", access=SIGNED_IN, public="it gives the token")
async def login(call: Call, request: LoginRequest, auth: Auth) -> LoginResponse:
    """Open a session of seven days with a user's name and password."""
    opened = await open_session(call, auth, request.username, request.password, request.is_hashed)
    set_login_cookie(call, opened)
    return LoginResponse(token=opened.token, user=user_message(opened.user))


@route("GET", "/api/v1/auth/user", access=SIGNED_IN, in_task=IDENTIFIES)
async def current_user(
    call: Call, request: CurrentUserRequest, users: Users
) -> CurrentUserResponse:
    """The caller."""
    return CurrentUserResponse(user=user_message(await users.me(call.caller)))


@route("POST", "/api/v1/auth/logout", access=SIGNED_IN, in_task=IDENTIFIES)
async def logout(call: Call, request: LogoutRequest, auth: Auth) -> LogoutResponse:
    """End the session that the request was made with."""
    await auth.logout(call.caller, call.http.token)
    _remove_cookies(call)
    return LogoutResponse()


class PlainLogin(msgspec.Struct):
    """A name with its password, hashed as clients hash it."""

    username: str = ""
    password: str = ""


@plain_route("POST", "/login", access=SIGNED_IN, public="it gives the token, to older clients")
async def plain_login(call: Call, auth: Auth) -> dict[str, str] | Reply:
    """As older clients log in: the password comes hashed, a refusal is a 403."""
    request = await plain_json(call, PlainLogin)
    try:
        opened = await open_session(call, auth, request.username, request.password, True)
    except InvalidArgument as error:
        raise PermissionDenied("user not found") from error
    except (Unauthenticated, PermissionDenied) as error:
        raise PermissionDenied(_plain_text(error)) from error
    if "cookie=true" in call.http.query.split("&"):
        set_login_cookie(call, opened)
    return {"token": opened.token}


async def open_session(
    call: Call, auth: Auth, username: str, password: str, is_hashed: bool
) -> Login:
    """Log in; the answer to too many tries says when the next may come.

    Raises:
        DetError: as `Auth.login`.
    """
    try:
        return await auth.login(
            username,
            password,
            is_hashed=is_hashed,
            address=call.http.client,
            marks=values(call.http.cookie, DEVICE),
        )
    except TooManyLogins as error:
        call.http.set_headers.append((b"retry-after", b"%d" % error.retry_after_s))
        raise


def _plain_text(error: DetError) -> str:
    return "user not active" if isinstance(error, PermissionDenied) else error.text


def set_login_cookie(call: Call, opened: Login) -> None:
    """Let the browser keep the token of a login, if a page of the master asked for it.

    A page of another origin could otherwise sign its visitor in as somebody else.
    """
    if is_foreign(call.http):
        return
    is_secure = _is_over_tls(call)
    if is_secure and values(call.http.cookie, LOGIN):
        _set_cookie(call, "", EXPIRED, is_secure=False)  # of an earlier version, or of a task
    for cookie in device_cookies(opened.mark, path_prefix(call.http), is_secure=is_secure):
        call.http.set_headers.append((b"set-cookie", cookie))
    _set_cookie(call, opened.token, _http_date(opened.expires_at), is_secure=is_secure)


def _remove_cookies(call: Call) -> None:
    sent = [name for name in LOGIN_NAMES if values(call.http.cookie, name)]
    for name in sent or [LOGIN]:
        _set_cookie(call, "", EXPIRED, is_secure=name != LOGIN)


def _set_cookie(call: Call, token: str, expires: str, *, is_secure: bool) -> None:
    cookie = login_cookie(token, expires, is_secure=is_secure)
    call.http.set_headers.append((b"set-cookie", cookie))


def _is_over_tls(call: Call) -> bool:
    """Whether the page came over TLS, to the master or to a proxy before it."""
    return call.http.is_secure or call.http.header("origin").startswith("https://")


def _http_date(moment: datetime) -> str:
    return moment.strftime("%a, %d %b %Y %H:%M:%S GMT")
