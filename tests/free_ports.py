"""Ports for servers that bind them a while later."""

from __future__ import annotations

import os
import random
import socket

_RANGE = range(13_000, 29_000)
"""Below the numbers that the system hands out to whoever connects or asks for any port, and away
from those that gangs use: a master that is started again finds its own still free."""
_SHARES = 8
"""Each worker of a run draws from a share of its own: what one has drawn and not bound yet, or
not bound again, no other draws."""
_given: set[int] = set()


def free_port() -> int:
    """A port that nobody listens at and that this process was not given before, drawn by lot:
    who runs the same tests on this machine draws another one."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    share = _RANGE[worker % _SHARES :: _SHARES]
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    for port in random.SystemRandom().sample(share, 200):
        if port in _given:
            continue
        with socket.socket(family) as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise AssertionError(f"no port of {_RANGE} is free")
