"""What of a request's head passes the proxy. PURE.

The master's own credentials never reach a task; headers that concern one connection alone are that
connection's.
Source: RFC 9110 7.6.1, RFC 9112 6.3, task-contract 7.7.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from urllib.parse import unquote_plus

from determined_master.api.http import cookies
from determined_master.api.upstream.connection import Header
from determined_master.domain.errors import InvalidArgument

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NEVER_HOP_BY_HOP = frozenset({b"content-length", b"host"})
"""Without them it would be another message, whatever `Connection` says."""
_ONCE = (b"host", b"authorization")
TOKEN_HEADER = b"grpc-metadata-x-allocation-token"
SERVICE_KEY = b"x-determined-service-key"
"""The key that the master presents to services that accept nobody else."""
BAD_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
PASS_COOKIE = "det_service"
"""Opens one service at an origin of its own; see `own_origin`."""
TICKET_COOKIE = "det_ticket_"
"""Begins the name of the cookie that belongs to a ticket."""
_OWN_COOKIES = frozenset(
    name.lower().encode() for name in (*cookies.LOGIN_NAMES, cookies.DEVICE, PASS_COOKIE)
)


def check_framing(headers: Iterable[Header]) -> None:
    """Refuse a request whose end two servers could read differently.

    Raises:
        InvalidArgument: two lengths, a length besides an encoding, an encoding other than chunked,
            two hosts or authorizations, or a control character in a value.
    """
    headers = list(headers)
    lengths = [value for name, value in headers if name == b"content-length"]
    encodings = [value for name, value in headers if name == b"transfer-encoding"]
    if encodings and lengths:
        raise InvalidArgument("the request has both Content-Length and Transfer-Encoding")
    if len(lengths) > 1 or not all(value.isdigit() for value in lengths):
        raise InvalidArgument("the request's Content-Length is not one number")
    if encodings and [value.strip().lower() for value in encodings] != [b"chunked"]:
        raise InvalidArgument("the request's Transfer-Encoding is not just chunked")
    for once in _ONCE:
        if sum(name == once for name, _ in headers) > 1:
            raise InvalidArgument(f"the request has the header {once.decode()} twice")
    if any(BAD_VALUE.search(value) for _, value in headers):
        raise InvalidArgument("a header of the request holds a control character")


def passed_on(headers: Iterable[Header], spent: Collection[str]) -> list[Header]:
    """The headers of a request that its service is given.

    Args:
        headers: as they came, names in lower case.
        spent: the master's own tokens.
    """
    kept = []
    for name, value in of_the_message(headers):
        if name in (TOKEN_HEADER, SERVICE_KEY, b"expect"):
            continue
        if name == b"authorization" and _credential(value) in spent:
            continue
        if name == b"cookie":
            value = cookies.without(value, is_own_cookie)
            if not value:
                continue
        kept.append((name, value))
    return kept


def is_own_cookie(name: bytes) -> bool:
    """Whether a cookie is one of the master's."""
    name = name.lower()
    return name in _OWN_COOKIES or name.startswith(TICKET_COOKIE.encode())


def with_origin(headers: list[Header], client: str, scheme: str) -> list[Header]:
    """The same headers with the request's origin; those of an earlier proxy stay."""
    names = {name for name, _ in headers}
    forwarded = [value for name, value in headers if name == b"x-forwarded-for"]
    others = [header for header in headers if header[0] != b"x-forwarded-for"]
    address = client.encode()
    if address:
        others.append((b"x-forwarded-for", b", ".join([*forwarded, address])))
        if b"x-real-ip" not in names:
            others.append((b"x-real-ip", address))
    if b"x-forwarded-proto" not in names:
        others.append((b"x-forwarded-proto", scheme.encode()))
    return others


def without_tokens(query: bytes, tokens: Collection[str]) -> bytes:
    """A query without the parameters `token` that hold one of the master's own."""
    if not query or not tokens:
        return query
    return b"&".join(part for part in query.split(b"&") if _token_in(part) not in tokens)


def query_token(query: bytes) -> str:
    """The value of the first parameter `token`; empty when there is none."""
    return next((found for found in map(_token_in, query.split(b"&")) if found), "")


def _credential(authorization: bytes) -> str:
    return authorization.partition(b" ")[2].strip().decode("latin-1")


def _token_in(part: bytes) -> str | None:
    name, _, value = part.partition(b"=")
    return unquote_plus(value.decode("latin-1")) if name == b"token" else None


def of_the_message(headers: Iterable[Header]) -> list[Header]:
    """The headers that concern the message, and not one connection of its way."""
    named = {
        token.strip().lower()
        for name, value in headers
        if name == b"connection"
        for token in value.split(b",")
    }
    dropped = HOP_BY_HOP | (named - _NEVER_HOP_BY_HOP)
    return [header for header in headers if header[0] not in dropped]
