"""The addresses of hosts that somebody other than an admin names.

A name is resolved once, each of its addresses is judged, and the caller connects to one of these.
A second resolution could lead elsewhere (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

Endpoint = tuple[Any, Any, int, str, Any]
"""As `socket.getaddrinfo` has it."""
_PORT = 9
"""Any port: nothing is sent."""


def resolve(host: str, port: int, check: Callable[[str], None]) -> list[Endpoint]:
    """All addresses of a host, each of which passed a check.

    Args:
        host: a name, or an IP address in any form that the resolver takes (127.1, 2130706433).
        port: of the service.
        check: raises for an address that may not be connected to.

    Raises:
        OSError: the host has no address. What `check` raises.
    """
    try:
        endpoints = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except ValueError as error:  # a NUL, or a label that is too long
        raise OSError(f"{host[:80]!r} is not a name of a host: {error}") from error
    for *_, address in endpoints:
        check(str(address[0]))
    return endpoints


async def addresses_of(host: str, limit_s: float) -> list[str]:
    """The IP addresses of a host; none if its name has none, or is not resolved in time."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        return [host]
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(limit_s):
            endpoints = await asyncio.to_thread(resolve, host, _PORT, lambda address: None)
            return list(dict.fromkeys(str(address[0]) for *_, address in endpoints))
    return []


def is_local(address: str) -> bool:
    """Whether an IP address is one of this machine.

    To its own addresses, a machine sends from the same address. Nothing is sent here: the kernel
    looks up the route.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _PORT))
            source = str(probe.getsockname()[0])
    except OSError:
        return False
    return ipaddress.ip_address(source.partition("%")[0]) == ipaddress.ip_address(
        address.partition("%")[0]
    )
