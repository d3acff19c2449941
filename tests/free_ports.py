"""Ports for servers that bind them a while later."""

from __future__ import annotations

import random
import socket

_RANGE = range(13_000, 29_000)
"""Below the numbers that the system hands out to whoever connects or asks for any port, and away
from those that gangs use: a master that is started again finds its own still free."""


def free_port() -> int:
    """A port that nobody listens at, drawn by lot: other tests look for one meanwhile."""
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    for port in random.sample(_RANGE, 100):
        with socket.socket(family) as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no port of {_RANGE} is free")
