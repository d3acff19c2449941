"""What of an answer's head passes the proxy. PURE.

Browsers apply many headers to an origin as a whole, and reverse proxies obey some. A list of bad
ones would never be complete, so only headers pass that describe the answer itself.
Source: RFC 9110, RFC 6265 4.1, task-contract 7.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from determined_master.api.proxy.heads import BAD_VALUE, is_own_cookie, of_the_message
from determined_master.api.upstream.connection import Header

_BODY = (
    b"content-type",
    b"content-length",
    b"content-encoding",
    b"content-language",
    b"content-disposition",
    b"content-range",
    b"content-md5",
    b"digest",
    b"accept-ranges",
)
_CACHING = (
    b"age",
    b"cache-control",
    b"etag",
    b"expires",
    b"last-modified",
    b"pragma",
    b"vary",
)
_OUTCOME = (b"allow", b"location", b"retry-after", b"server")
_LIMITS_OF_THE_PAGE = (
    b"content-security-policy",
    b"cross-origin-embedder-policy",
    b"cross-origin-opener-policy",
    b"cross-origin-resource-policy",
    b"permissions-policy",
    b"referrer-policy",
    b"x-content-type-options",
    b"x-frame-options",
    b"x-xss-protection",
)
_CORS = (
    b"access-control-allow-credentials",
    b"access-control-allow-headers",
    b"access-control-allow-methods",
    b"access-control-allow-origin",
    b"access-control-expose-headers",
    b"access-control-max-age",
)
_WEBSOCKET = (
    b"sec-websocket-accept",
    b"sec-websocket-extensions",
    b"sec-websocket-protocol",
    b"sec-websocket-version",
)
_OF_PROGRAMS = (
    b"grpc-message",
    b"grpc-status",
    b"x-pagination",
    b"x-ratelimit-limit",
    b"x-ratelimit-remaining",
    b"x-ratelimit-reset",
    b"x-request-id",
    b"x-total-count",
)
"""Read by clients of services, obeyed by nobody."""
ALLOWED = frozenset(
    (*_BODY, *_CACHING, *_OUTCOME, *_LIMITS_OF_THE_PAGE, *_CORS, *_WEBSOCKET, *_OF_PROGRAMS)
)
VARY: Header = (b"vary", b"Cookie, Authorization")
"""A page that its owner is shown without a sandbox is not cached for somebody else."""
_COOKIE = b"set-cookie"
_PREFIXES = (b"__host-", b"__http-", b"__secure-")
_ATTRIBUTES = frozenset({b"expires", b"max-age", b"secure", b"httponly", b"samesite", b"path"})
_ANCESTORS = re.compile(rb"(?i)\bframe-ancestors(?!\s+'none')[^;,]*[^;,\s]")
MAX_COOKIE_BYTES = 4096
"""As in browsers."""


def sent_back(headers: Iterable[Header], path: bytes, framed_by: str = "") -> list[Header]:
    """The headers of an answer that the client is given.

    Args:
        headers: as they came, names in lower case.
        path: of the service on the master; all of its paths start with it.
        framed_by: the master's origin, if the service has another one: its web UI shows pages in
            frames, which pages allow to their own origin at best.
    """
    passed = [VARY]
    for name, value in of_the_message(headers):
        if BAD_VALUE.search(value):
            continue
        if name in ALLOWED:
            passed.append(
                _framed((name, value), framed_by.encode()) if framed_by else (name, value)
            )
        elif name == _COOKIE and (cookie := service_cookie(value, path)):
            passed.append((name, cookie))
    return passed


def _framed(header: Header, by: bytes) -> Header:
    """The header of a page that its own origin may frame, so that another one may, too."""
    name, value = header
    if name == b"x-frame-options" and value.strip().lower() == b"sameorigin":
        return b"content-security-policy", b"frame-ancestors 'self' " + by
    if name == b"content-security-policy":
        return name, _ANCESTORS.sub(lambda match: match[0] + b" " + by, value)
    return header


def service_cookie(value: bytes, path: bytes) -> bytes:
    """A cookie of a service, for its own paths and this host alone; empty if it must not pass.

    A name that browsers or the master treat specially does not pass, nor does a cookie without a
    name: browsers send its value alone, which could look like another cookie.
    """
    pair, *rest = value.split(b";")
    name, _, content = pair.partition(b"=")
    name, content = name.strip(b" \t"), content.strip(b" \t")
    if not name or is_own_cookie(name) or name.lower().startswith(_PREFIXES):
        return b""
    attributes: dict[bytes, bytes] = {}
    for part in rest:
        key, _, setting = part.partition(b"=")
        key = key.strip(b" \t").lower()
        if key in _ATTRIBUTES:
            attributes[key] = setting.strip(b" \t")
    if b"path" in attributes and not attributes[b"path"].startswith(path):
        attributes[b"path"] = path
    shown = [key + b"=" + setting if setting else key for key, setting in attributes.items()]
    cookie = b"; ".join([name + b"=" + content, *shown])
    return cookie if len(cookie) <= MAX_COOKIE_BYTES else b""
