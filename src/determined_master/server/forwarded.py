"""The address of a client behind reverse proxies that an admin trusts (security.trusted_proxies).

Each proxy appends the address of its peer to `X-Forwarded-For` or `Forwarded` (RFC 7239). What
stands before may be forged, so that only the right-most address that is not a trusted proxy's
counts. A client's own header of the other kind passes a proxy unchanged: if both are there they
must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import uvicorn

from determined_master.domain.addresses import IPNetwork, is_in, is_same

Header = tuple[bytes, bytes]

MAX_BYTES = 4096
"""Of one kind of header; a longer one is not read."""
MAX_HOPS = 32
"""Read of one header, from the right."""
_PORT = r"(?::[0-9]{1,5})?"
_NODE = re.compile(
    rf"(?P<four>[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}){_PORT}"
    rf"|\[(?P<six>[0-9A-Fa-f:.]{{2,45}})\]{_PORT}"
    r"|(?P<bare>[0-9A-Fa-f:.]{2,45})"
)
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PAIR = rf'{_TOKEN}=(?:{_TOKEN}|"(?:[^"\\]|\\.)*")'
_ELEMENT = re.compile(rf"[ \t]*((?:{_PAIR})(?:;{_PAIR})*)[ \t]*")
_FOR = re.compile(rf'(?:^|;)for=(?:({_TOKEN})|"([^"\\]*)")(?=;|$)', re.IGNORECASE)


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration, with the proxies that the master trusts."""

    trusted_proxies: Sequence[IPNetwork] = ()


def trusted_proxies(config: uvicorn.Config) -> Sequence[IPNetwork]:
    """The trusted proxies of a server."""
    return config.trusted_proxies if isinstance(config, ServerConfig) else ()


def is_proxy(peer: str, trusted: Sequence[IPNetwork]) -> bool:
    """Whether a connection comes from a trusted proxy."""
    try:
        return bool(trusted) and is_in(peer, trusted)
    except ValueError:  # a Unix socket
        return False


def client_address(peer: str, headers: Iterable[Header], trusted: Sequence[IPNetwork]) -> str:
    """The address of the client that sent a request.

    It is the peer's own if that is not trusted, if the headers cannot be read, or if they
    contradict each other.

    Args:
        peer: address of the connection.
        headers: of the request, names in lower case.
        trusted: networks of proxies.
    """
    if not is_proxy(peer, trusted):
        return peer
    values: dict[bytes, list[bytes]] = {b"x-forwarded-for": [], b"forwarded": []}
    for name, value in headers:
        if name in values:
            values[name].append(value)
    clients = [
        _client(peer, hops(b",".join(texts).decode("latin-1")), trusted)
        for texts, hops in zip(values.values(), (_plain_hops, _forwarded_hops), strict=True)
        if texts
    ]
    if not clients or any(not is_same(client, clients[0]) for client in clients):
        return peer
    return clients[0]


def _client(peer: str, hops: Sequence[str], trusted: Sequence[IPNetwork]) -> str:
    """The right-most address that is not a proxy's; a hop that is no address ends the search."""
    client = peer
    for hop in reversed(hops[-MAX_HOPS:]):
        address = _address(hop)
        if address is None:
            return client
        client = address
        if not is_proxy(address, trusted):
            return client
    return client


def _plain_hops(text: str) -> list[str]:
    if len(text) > MAX_BYTES:
        return []
    return [hop.strip(" \t") for hop in text.split(",")]


def _forwarded_hops(text: str) -> list[str]:
    """The value of `for` of each element; none if any of it is not as RFC 7239 has it."""
    if len(text) > MAX_BYTES:
        return []
    hops: list[str] = []
    at = 0
    while True:
        element = _ELEMENT.match(text, at)
        if element is None:
            return []
        pairs = _FOR.findall(element.group(1))
        hops.append("".join(pairs[0]) if len(pairs) == 1 else "")
        at = element.end()
        if at == len(text):
            return hops
        if text[at] != ",":
            return []
        at += 1


def _address(hop: str) -> str | None:
    """The IP address of a hop without its port; None for `unknown` and for all else."""
    node = _NODE.fullmatch(hop)
    address = node and (node["four"] or node["six"] or node["bare"])
    return address if address and is_same(address, address) else None
