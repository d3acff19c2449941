"""Connections to ports of pods through the API server, for a master outside of their network.

The API server passes the bytes of a connection through a WebSocket, as for `kubectl port-forward`.
Each frame begins with the number of its channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import Any

from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)

log = logging.getLogger(__name__)

PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
"""Channels."""
_PORT_BYTES = 2
"""The first frame of each channel has the port's number."""
_PIECE_BYTES = 64 * 1024


class PortForward:
    """The connections of one cluster that are open now."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._open: set[asyncio.Task[None]] = set()

    async def connect(self, namespace: str, pod: str, port: int) -> socket.socket:
        """A socket that leads to a port of a pod; the caller closes it.

        A port at which nothing listens closes it without a byte.

        Raises:
            ConnectionError: the API server does not answer, or refuses.
        """
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
        try:
            stream = await self._api.web_socket(path, {"ports": str(port)}, PROTOCOL)
        except (KubernetesUnreachable, KubernetesRefused) as error:
            if isinstance(error, KubernetesRefused) and error.status == 403:
                raise ConnectionError(
                    "the master's account may not reach ports of pods: grant it the verbs get and "
                    f"create on pods/portforward in namespace {namespace}"
                ) from error
            raise ConnectionError(f"Kubernetes does not connect to the pod: {error}") from error
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        task = asyncio.create_task(_carry(stream, ours, f"{namespace}/{pod}:{port}"))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return theirs

    async def close(self) -> None:
        """End all of them."""
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


async def _carry(stream: Any, end: socket.socket, where: str) -> None:
    """Carry bytes both ways until one side has ended."""
    reader, writer = await asyncio.open_connection(sock=end)
    ways = [
        asyncio.create_task(_from_pod(stream, writer, where)),
        asyncio.create_task(_to_pod(reader, stream)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        await stream.close()


async def _from_pod(stream: Any, writer: asyncio.StreamWriter, where: str) -> None:
    begun: set[int] = set()
    async for frame in stream:
        if not isinstance(frame.data, bytes) or not frame.data:
            continue
        channel, data = frame.data[0], frame.data[1:]
        if channel not in begun:
            begun.add(channel)
            data = data[_PORT_BYTES:]
        if channel == _ERROR and data:
            reason = data.decode(errors="replace")
            # A service that has not started yet refuses; any other reason is one of the node.
            level = logging.INFO if "refused" in reason.lower() else logging.WARNING
            log.log(level, "the node of %s forwards no connection: %s", where, reason.strip())
            return
        if channel == _DATA and data:
            writer.write(data)
            await writer.drain()


async def _to_pod(reader: asyncio.StreamReader, stream: Any) -> None:
    while data := await reader.read(_PIECE_BYTES):
        await stream.send_bytes(bytes((_DATA,)) + data)
