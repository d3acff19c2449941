"""Connections to ports of pods through a Gateway."""

from __future__ import annotations

import asyncio
import socket
from datetime import datetime, timedelta

from determined_master.backends.kubernetes.options import Gateway
from determined_master.domain.pods.gateway_listeners import Lease

PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Between tries: the Gateway's controller opens the port of a new listener some seconds later."""
NEW = timedelta(minutes=2)
"""How long a pod's listener counts as new."""


async def connect_through(
    gateway: Gateway, lease: Lease, created_at: datetime | None, now: datetime
) -> socket.socket:
    """A socket that leads to the port of a lease; the caller closes it.

    Args:
        gateway: through which it leads.
        lease: the port.
        created_at: when its pod was created; a refused connection to a new one is tried again.
        now: the current instant, by the same clock.

    Raises:
        ConnectionError: the Gateway does not take it.
    """
    is_new = created_at is None or now - created_at < NEW
    for pause_s in PAUSES_S if is_new else ():
        try:
            return await _connected(gateway.host, lease.port)
        except OSError:
            await asyncio.sleep(pause_s)
    try:
        return await _connected(gateway.host, lease.port)
    except OSError as error:
        raise ConnectionError(
            f"Gateway {gateway.namespace}/{gateway.name} takes no connection at "
            f"{gateway.host}:{lease.port} ({error.strerror or error}); see the conditions of its "
            f"listener det-{lease.port} and of TCPRoute {lease.namespace}/{lease.route}"
        ) from error


async def _connected(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure = OSError(f"no address of {host} is known")
    for family, kind, protocol, _, address in addresses:
        end = socket.socket(family, kind, protocol)
        end.setblocking(False)
        try:
            await loop.sock_connect(end, address)
        except OSError as error:
            end.close()
            failure = error
        except BaseException:
            end.close()
            raise
        else:
            return end
    raise failure
