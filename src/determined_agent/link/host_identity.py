"""The address and the user of this machine that the agent reports to the master."""

from __future__ import annotations

import ipaddress
import os
import pwd
import socket

_UNUSED_ADDRESS = ("192.0.2.1", 9)
"""A reserved address (TEST-NET-1). Nothing is sent; the kernel only looks up the route."""


def advertised_address(setting: str, link_address: str) -> str:
    """Return the address at which other machines reach the containers of this one.

    Args:
        setting: the admin's `advertised_address`; used if it is not empty.
        link_address: this machine's end of the connection to the master.

    Returns:
        The local end of the route to the master. If the master runs on this machine, that is a
        loopback address, which other machines cannot use; then the local end of the default
        route, if there is one.
    """
    if setting:
        return setting
    if not _is_loopback(link_address):
        return link_address
    return default_route_address() or link_address


def default_route_address() -> str:
    """Return this machine's address on its default route, or an empty text without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_UNUSED_ADDRESS)
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def account_name() -> str:
    """Return the name of the user that this agent and all of its processes run as.

    Returns:
        An empty text for root, which starts processes of any user, and for an id without a name.
    """
    uid = os.getuid()
    if uid == 0:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True
