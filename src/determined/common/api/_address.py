"""Addresses of the master and of HTTP proxies."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

DEFAULT_PORT = 8080
"""The port of an address without port and scheme."""


class ServerAddress(NamedTuple):
    """The address of a server; `path` has no trailing slash."""

    scheme: str
    host: str
    port: int
    path: str = ""
    userinfo: str = ""

    @property
    def origin(self) -> str:
        """`host:port`, with an IPv6 host in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> ServerAddress:
    """Read an address such as `host`, `host:8080`, `https://host/base`.

    The default is http on port 8080; with a scheme, the default port of the scheme.

    Raises:
        ValueError: the scheme is not http or https, there is no host, or the port is invalid.
    """
    text = text.strip()
    has_scheme = "://" in text
    parts = urlsplit(text if has_scheme else "http://" + text)
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"address {text!r}: the scheme must be http or https")
    if not parts.hostname:
        raise ValueError(f"address {text!r} has no host")
    default = {"http": 80 if has_scheme else DEFAULT_PORT, "https": 443}[parts.scheme]
    try:
        port = default if parts.port is None else parts.port
    except ValueError:
        raise ValueError(f"address {text!r}: the port must be a number from 0 to 65535") from None
    return ServerAddress(
        parts.scheme, parts.hostname, port, parts.path.rstrip("/"), _userinfo(parts)
    )


def canonicalize_master_url(text: str) -> str:
    """The canonical form of a master's address, with scheme, host and port."""
    address = parse_address(text)
    return f"{address.scheme}://{address.origin}{address.path}"


def _userinfo(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"
