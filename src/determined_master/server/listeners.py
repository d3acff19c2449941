"""The ports at which the master listens."""

from __future__ import annotations

import logging
import socket

log = logging.getLogger(__name__)

SERVICES_FROM_PORT = 1000
"""Of the default port of services, from the master's own."""
MAX_PORT = 65535


def listen(host: str, port: int, services_port: int | None) -> tuple[list[socket.socket], int]:
    """Listen for everything, and for services of tasks.

    Args:
        host: address to listen on.
        port: the master's own.
        services_port: for services of tasks; 0 for none, None for the default one, which is used
            if it is free, because nobody asked for it.

    Returns:
        The sockets, and the port of services; 0 for none.

    Raises:
        OSError: a port cannot be used.
    """
    listeners = [_listen(host, port, "--port or --host")]
    if services_port is not None:
        if services_port:
            try:
                listeners.append(_listen(host, services_port, "proxy.port"))
            except OSError:
                listeners[0].close()
                raise
        return listeners, services_port
    default = port + SERVICES_FROM_PORT
    if default > MAX_PORT:
        return listeners, 0
    try:
        listeners.append(_listen(host, default, "proxy.port"))
    except OSError as error:
        log.warning(
            "pages of tasks are served at the master's own address, in a sandbox",
            extra={"error": str(error)},
        )
        return listeners, 0
    return listeners, default


def reason_of(error: OSError) -> str:
    """Why: asyncio and `create_server` add the address to the system's text."""
    return (error.strerror or str(error)).partition(" (while")[0]


def _listen(host: str, port: int, option: str) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=2048)
    except OSError as error:
        raise OSError(
            f"port {port} of {host or 'all addresses'} cannot be used: {reason_of(error)}; "
            f"stop the program that listens there, or choose another with {option}"
        ) from None
