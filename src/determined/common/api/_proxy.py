"""HTTP proxies from the environment, by the rules of the library `requests`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Mapping, NamedTuple, Optional, Union

from determined.common.api import errors
from determined.common.api._address import ServerAddress, parse_address

if TYPE_CHECKING:
    import ipaddress

    IP = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]

NO_PROXY = "NO_PROXY"
_NOT_THE_MASTERS = frozenset((403, 407, 502, 503, 504))
"""Statuses of a proxy that does not pass a request on."""


class Proxy(NamedTuple):
    """A proxy, and the environment variable that names it."""

    address: ServerAddress
    variable: str

    @property
    def words(self) -> str:
        """Its address and variable, without its password."""
        return f"{self.address.scheme}://{self.address.origin} ({self.variable})"


class ProxyError(ConnectionRefusedError):
    """The proxy is unreachable, or opens no connection to the master, which received nothing."""

    def __init__(self, proxy: Proxy, address: ServerAddress, reason: str) -> None:
        super().__init__(failure_through(proxy, address, reason))
        self.reason = reason


def proxy_for(address: ServerAddress, env: Optional[Mapping[str, str]] = None) -> Optional[Proxy]:
    """The proxy for an address, from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    Names in lower case win. An empty one in lower case switches its proxy off.

    Raises:
        MasterNotFoundException: the variable has no valid address, or that of another kind of
            proxy.
    """
    env = os.environ if env is None else env
    for kind in (address.scheme, "all"):
        lower, upper = f"{kind}_proxy", f"{kind.upper()}_PROXY"
        variable = lower if lower in env else upper
        value = env.get(variable, "").strip()
        if value:
            break
    else:
        return None
    if is_exempt(address, env.get("no_proxy") or env.get(NO_PROXY) or ""):
        return None
    try:
        # Without a scheme the default port is that of http.
        proxy = parse_address(value if "://" in value else f"http://{value}")
    except ValueError:
        raise errors.MasterNotFoundException(_invalid(variable, value, address)) from None
    return Proxy(proxy, variable)


def is_exempt(address: ServerAddress, no_proxy: str) -> bool:
    """Whether a list as in NO_PROXY names a host.

    Items are names, suffixes, addresses, ranges (`10.0.0.0/8`) and `*`, each with or without a
    port. As in `requests`, a name is also a suffix of longer names, with or without a dot. Unlike
    there, ranges of IPv6, ports of addresses and `*.name` are honoured too.
    """
    items = no_proxy.replace(" ", "").lower().split(",")
    host = address.host.lower()
    ip = _ip(host)
    if ip is not None:
        return any(_has_ip(item, ip, address.port) for item in items)
    names = (host, f"{host}:{address.port}")
    return any(_has_name(item, names) for item in items)


def is_answer_of_proxy(status: int, content_type: str) -> bool:
    """Whether a call through a proxy did not reach the master, whose errors are JSON."""
    return status in _NOT_THE_MASTERS and "json" not in content_type


def failure_through(proxy: Proxy, address: ServerAddress, reason: str) -> str:
    """The text of a failed call, with both remedies."""
    return (
        f"no answer from the master at {address.scheme}://{address.origin}{address.path} through "
        f"the proxy {proxy.words}: {reason}. If the master needs no proxy, exempt it with "
        f"{NO_PROXY}={address.host}; otherwise correct {proxy.variable}."
    )


def _has_name(item: str, names: tuple[str, str]) -> bool:
    if item == "*":
        return True
    item = item[1:] if item.startswith("*.") else item
    bare = item.lstrip(".")
    return bool(bare) and any(name.endswith(item) or name == bare for name in names)


def _has_ip(item: str, ip: IP, port: int) -> bool:
    if item == "*":
        return True
    if "/" in item:
        return _is_in_range(ip, item)
    if _ip(item) is not None:  # also an IPv6 address without brackets, which has colons
        return _ip(item) == ip
    host, colon, item_port = item.rpartition(":")
    return bool(colon) and item_port == str(port) and _ip(host) == ip


def _is_in_range(ip: IP, text: str) -> bool:
    import ipaddress

    try:
        network = ipaddress.ip_network(text.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return False
    return ip in network


def _ip(text: str) -> Optional[IP]:
    """An address as a value; None for a name. Names do not import `ipaddress`."""
    if ":" not in text and not text.replace(".", "").isdigit():
        return None
    import ipaddress

    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _invalid(variable: str, value: str, address: ServerAddress) -> str:
    shown = value.rpartition("@")[2]  # without user and password
    return (
        f"{variable} has {shown!r}, which is not the address of an HTTP proxy, such as "
        f"http://proxy:3128; SOCKS proxies are not supported. Correct it, or exempt the master "
        f"with {NO_PROXY}={address.host}"
    )
