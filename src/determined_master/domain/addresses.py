"""Which network addresses somebody other than an admin may name for connections of the master.

One rule for webhooks, storages and agents. An address is judged after its name was resolved, and
the master connects to the judged address (`backends.named_hosts`). The list of special networks is
our own: `ipaddress.is_global` differs between releases of Python, and misses some of them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_SPECIAL: tuple[tuple[IPNetwork, str], ...] = tuple(
    (ipaddress.ip_network(network), kind)
    for network, kind in (
        # IANA IPv4 Special-Purpose Address Registry
        ("0.0.0.0/8", "of this host or network (RFC 1122)"),
        ("10.0.0.0/8", "private (RFC 1918)"),
        ("100.64.0.0/10", "shared behind carriers, or of Alibaba Cloud's metadata (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("169.254.0.0/16", "link-local, as the metadata of clouds (RFC 3927)"),
        ("172.16.0.0/12", "private (RFC 1918)"),
        ("192.0.0.0/24", "of IETF protocols, or of Oracle Cloud's metadata (RFC 6890)"),
        ("192.0.2.0/24", "for documentation (RFC 5737)"),
        ("192.88.99.0/24", "a relay of 6to4 (RFC 7526)"),
        ("192.168.0.0/16", "private (RFC 1918)"),
        ("198.18.0.0/15", "for benchmarks (RFC 2544)"),
        ("198.51.100.0/24", "for documentation (RFC 5737)"),
        ("203.0.113.0/24", "for documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("240.0.0.0/4", "reserved (RFC 1112)"),
        # learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
        ("168.63.129.16/32", "of Azure's platform"),
        # IANA IPv6 Special-Purpose Address Registry
        ("::1/128", "loopback (RFC 4291)"),
        ("::/96", "an IPv4 address in an obsolete form (RFC 4291)"),
        ("::ffff:0:0:0/96", "an IPv4 address in a translated form (RFC 2765)"),
        ("64:ff9b:1::/48", "for translation inside of a network (RFC 8215)"),
        ("fc00::/7", "private, as the metadata of clouds (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("ff00::/8", "multicast (RFC 4291)"),
        ("2001::/23", "of IETF protocols, such as Teredo (RFC 2928)"),
        ("2001:db8::/32", "for documentation (RFC 3849)"),
        ("3fff::/20", "for documentation (RFC 9637)"),
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All other IPv6 addresses are not assigned to hosts of the internet (IANA)."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
"""Upper half of an interface's identifier that holds an IPv4 address (RFC 5214)."""


def networks_of(texts: Sequence[str]) -> tuple[IPNetwork, ...]:
    """Networks from settings, such as 10.1.0.0/16. Raises ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def find_problem(host: str, address: str, allowed: Sequence[IPNetwork] = ()) -> str | None:
    """The reason why a host at an address may not be named; None for a possible one.

    Args:
        host: as it was named, for the text.
        address: an IP address, one of those that the host's name was resolved to.
        allowed: networks that an admin allows besides the public ones.
    """
    ip = _plain(address)
    kind = _kind(ip)
    if kind is None or is_in(address, allowed):
        return None
    inner = "" if str(ip) == address else f" ({ip})"
    return f"{host} has the address {address}{inner}, which is {kind}"


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet, also inside of an IPv6 address."""
    return _kind(_plain(address)) is None


def is_in(address: str, networks: Sequence[IPNetwork]) -> bool:
    """Whether an IP address, also inside of an IPv6 address, is in one of these networks."""
    return any(_plain(address) in network for network in networks)


def is_same(address: str, other: str) -> bool:
    """Whether two texts are one IP address; False for a text that is none."""
    try:
        return _plain(address) == _plain(other)
    except ValueError:
        return False


def is_loopback(address: str) -> bool:
    """Whether a text is an IP address of the machine itself; False for a text that is none."""
    try:
        return _plain(address).is_loopback
    except ValueError:
        return False


def choose_own(
    advertised: Sequence[str],
    remote: str,
    allowed: Sequence[IPNetwork],
    is_local: Callable[[str], bool],
) -> str | None:
    """The first of an agent's addresses that the master may connect to; None if it has none.

    An agent on the master's own machine may name any address of that machine: what listens there
    is open to the agent itself.

    Args:
        advertised: IP addresses that the agent's name was resolved to.
        remote: of the agent's connection.
        allowed: networks in which an admin lets agents name their addresses.
        is_local: whether an IP address is one of the master's machine.
    """
    is_here = is_loopback(remote)
    for address in advertised:
        if is_same(address, remote):
            return remote
        is_own = is_here and (is_loopback(address) or is_local(address))
        if is_own or is_in(address, allowed):
            return address
    return None


def _kind(ip: IPAddress) -> str | None:
    """The purpose of a special address; None for an address of the internet."""
    for network, kind in _SPECIAL:
        if ip in network:
            return kind
    if isinstance(ip, ipaddress.IPv6Address) and ip not in _GLOBAL_UNICAST:
        return "reserved (RFC 4291)"
    return None


def _plain(address: str) -> IPAddress:
    """An address without its zone; the IPv4 address that an IPv6 address stands for."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    inner = ip.ipv4_mapped or ip.sixtofour
    is_embedded = ip in _NAT64 or (int(ip) >> 32 & 0xFFFFFFFF) in _ISATAP
    if inner is None and is_embedded:
        inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return inner or ip
