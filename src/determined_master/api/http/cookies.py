"""Cookies of requests, and the login cookie. PURE.

Pages of tasks may share the master's host, so any cookie can be theirs. Header `Cookie` is split
at `;` alone, as browsers join it (RFC 6265 5.4); nothing in a name or value makes it invalid.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator

from determined_master.domain.errors import InvalidArgument

LOGIN = "auth"
"""Name of the login cookie, as in 0.38.1."""
SECURE_LOGIN = "__Host-auth"
"""Its name over TLS. Browsers accept it only with `Path=/` and `Secure` and without `Domain`, so
no other host or path can add a second one."""
LOGIN_NAMES = (LOGIN, SECURE_LOGIN)
DEVICE = "det_device"
"""Cookie with the mark of a device: only the login routes are sent it."""
DEVICE_PATHS = ("/api/v1/auth/login", "/login", "/det/login")
DEVICE_LIFE_S = 400 * 24 * 3600
"""Browsers keep no cookie for longer."""
EXPIRED = "Thu, 01 Jan 1970 00:00:00 GMT"
MAX_EXPIRIES = 64


class TwoLogins(InvalidArgument):
    """A request has two login cookies, and the master cannot know which one is the visitor's."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the request has the cookie {name} more than once, and one may be somebody else's. "
            "This answer removes the others: reload the page. If that does not help, delete the "
            "cookies of this address in the browser and sign in again"
        )


def pairs(header: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and values of header `Cookie`; the name of a cookie without one is empty."""
    for part in header.split(b";"):
        name, separator, value = part.strip(b" \t").partition(b"=")
        if separator:
            yield name.rstrip(b" \t"), value.lstrip(b" \t")
        elif name:
            yield b"", name


def values(header: bytes, name: str) -> list[str]:
    """All values of the cookies with a name."""
    if not header:
        return []
    key = name.encode()
    return [value.decode("latin-1") for each, value in pairs(header) if each == key]


def without(header: bytes, is_dropped: Callable[[bytes], bool]) -> bytes:
    """The header without the cookies of some names, the others as they came.

    A cookie without a name is left out too: another reader could take its value for a pair.
    """
    named = [(part, _name_of(part)) for part in header.split(b";")]
    passed = [part for part, name in named if name and not is_dropped(name)]
    return b";".join(passed).strip()


def login_token(header: bytes, *, is_secure_page: bool) -> str:
    """The token of the login cookie; empty without one.

    Args:
        header: `Cookie`.
        is_secure_page: whether a browser sent it over TLS: then its login has the name that no
            task can add, and a cookie with the plain name may be a task's.

    Raises:
        TwoLogins: there are two.
    """
    for name in (SECURE_LOGIN,) if is_secure_page else (SECURE_LOGIN, LOGIN):
        tokens = values(header, name)
        if len(tokens) > 1:
            raise TwoLogins(name)
        if tokens and tokens[0]:
            return tokens[0]
    return ""


def login_cookie(token: str, expires: str, *, is_secure: bool) -> bytes:
    """Value of `Set-Cookie` for a login; an empty token takes the cookie away."""
    name, secure = (SECURE_LOGIN, "; Secure") if is_secure else (LOGIN, "")
    text = f"{name}={token}; Path=/; Expires={expires}; HttpOnly; SameSite=Lax{secure}"
    return text.encode()


def device_cookies(mark: str, prefix: str, *, is_secure: bool) -> list[bytes]:
    """Values of `Set-Cookie` for the mark of a device; `prefix` is that of a reverse proxy."""
    end = f"Max-Age={DEVICE_LIFE_S}; HttpOnly; SameSite=Strict{'; Secure' if is_secure else ''}"
    return [f"{DEVICE}={mark}; Path={prefix}{path}; {end}".encode() for path in DEVICE_PATHS]


def expiries(path: str, host: str) -> list[bytes]:
    """Values of `Set-Cookie` that remove each login cookie except the master's own.

    The master's own has `Path=/` and no `Domain`. Another one that came with a request has a path
    that begins this request's path, or the domain of this host or of one above it.

    Args:
        path: of the request.
        host: its header `Host`.
    """
    paths = ["/"]
    for part in path.split("/")[1:]:
        if part:
            before = paths[-1].rstrip("/")
            paths += [f"{before}/{part}", f"{before}/{part}/"]
    places = [f"; Path={each}" for each in paths[1:]]
    places += [f"; Path={each}; Domain={domain}" for domain in _domains(host) for each in paths]
    return [
        f"{LOGIN}=; Expires={EXPIRED}{place}".encode("latin-1", "replace")
        for place in places[:MAX_EXPIRIES]
        if place.isprintable()
    ]


def _name_of(part: bytes) -> bytes:
    name, separator, _ = part.strip(b" \t").partition(b"=")
    return name.rstrip(b" \t") if separator else b""


def _domains(host: str) -> list[str]:
    """The domains for which a page at this host can set a cookie."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        labels = name.split(".")
        return [".".join(labels[first:]) for first in range(max(len(labels) - 1, 1))]
    return []
