"""Which network addresses users may name for requests of the master."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an IP address is reachable from the internet, also inside of an IPv6 address."""
    ip = _plain(address)
    return ip.is_global and not ip.is_multicast


def is_in(address: str, networks: Sequence[IPNetwork]) -> bool:
    """Whether an IP address, also inside of an IPv6 address, is in one of these networks."""
    return any(_plain(address) in network for network in networks)


def _plain(address: str) -> IPAddress:
    """An address without its zone; the IPv4 address that an IPv6 address stands for."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    inner = ip.ipv4_mapped or ip.sixtofour
    if inner is None and ip in _NAT64:
        inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return inner or ip
