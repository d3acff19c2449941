"""Where other machines reach this one."""

from __future__ import annotations

import ipaddress
import socket

_ELSEWHERE = ("192.0.2.1", 9)
"""An address that nobody has; nothing is sent to it, the system only looks for the way there."""


def own_address(setting: str, link_address: str) -> str:
    """The address that the containers of this machine are reached at from others.

    Args:
        setting: what the admin says; wins.
        link_address: this machine's end of the connection to the master.

    Returns:
        The end of the route to the master. A master on this very machine is reached over
        loopback, which means nothing to others: then the end of the default route, if any.
    """
    if setting:
        return setting
    if not _is_loopback(link_address):
        return link_address
    return default_route_address() or link_address


def default_route_address() -> str:
    """This machine's address on its default route, empty without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True
