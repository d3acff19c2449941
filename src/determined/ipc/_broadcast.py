"""Broadcast and gather between a chief and its workers."""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Any, List, Optional, Tuple

from determined.common._backoff import Backoff
from determined.ipc._channel import Channel, NotAuthentic, PeerGone
from determined.ipc._codec import encode

START_TIMEOUT_S = 600.0
"""The timeout for all ranks of a task to connect."""


class BroadcastServer:
    """The chief's side.

    Args:
        num_connections: the number of workers, at least 1.
        pub_url: the address to listen on, `tcp://HOST:PORT`. HOST `*` means all addresses, PORT 0
            a free port; the default is a free port on the loopback address.
        pull_url: ignored; one port serves both directions.
        key: the shared key of chief and workers; by default a random key, `server.key`.
    """

    def __init__(
        self,
        num_connections: int,
        pub_url: Optional[str] = None,
        pull_url: Optional[str] = None,
        *,
        key: Optional[bytes] = None,
    ) -> None:
        import os

        self._num_connections = num_connections
        self.key = os.urandom(32) if key is None else key
        self._channels: List[Channel] = []
        host, port = _parse_url(pub_url or "tcp://127.0.0.1:0")
        try:
            self._listener = _listen(host, port)
        except OSError as error:
            raise OSError(
                error.errno,
                f"port {port} for messages between ranks cannot be used ({error.strerror}): "
                "set INTER_TRAIN_PROCESS_COMM_PORT_1 to a free port",
            ) from error

    def __enter__(self) -> BroadcastServer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def safe_start(self) -> None:
        """Wait until every worker has connected.

        Raises:
            TimeoutError: a worker did not connect within ten minutes.
        """
        deadline = time.monotonic() + START_TIMEOUT_S
        while len(self._channels) < self._num_connections:
            self._listener.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                sock, _ = self._listener.accept()
            except socket.timeout:
                raise TimeoutError(
                    f"only {len(self._channels)} of {self._num_connections} other ranks "
                    f"connected within {START_TIMEOUT_S:.0f} s"
                ) from None
            _tune(sock)
            try:
                self._channels.append(Channel.accept(sock, self.key))
            except (NotAuthentic, PeerGone, TimeoutError, OSError):
                sock.close()  # not a rank of this task; keep waiting for the missing rank
        self._listener.close()

    def get_pub_port(self) -> int:
        """The port that workers connect to."""
        return self._port

    def get_pull_port(self) -> int:
        """The same port, since one connection serves both directions."""
        return self._port

    def broadcast(self, obj: Any) -> None:
        """Send a value to every worker; errors as `Channel.send`."""
        payload = encode(obj)
        for channel in self._channels:
            channel.send_encoded(payload)

    def gather(self) -> List[Any]:
        """Wait for one value from each worker; return them in the order of connection."""
        return [channel.receive() for channel in self._channels]

    def close(self) -> None:
        """Close all connections."""
        self._listener.close()
        for channel in self._channels:
            channel.close()

    @property
    def _port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port


class BroadcastClient:
    """A worker's side.

    Args:
        srv_pub_url: the address of the chief, `tcp://HOST:PORT`.
        srv_pull_url: ignored.
        key: the chief's key.
    """

    def __init__(
        self, srv_pub_url: str, srv_pull_url: Optional[str] = None, *, key: bytes = b""
    ) -> None:
        self._address = _parse_url(srv_pub_url)
        self._key = key
        self._channel: Optional[Channel] = None

    def __enter__(self) -> BroadcastClient:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def safe_start(self) -> None:
        """Connect to the chief, with retries until it listens.

        Raises:
            TimeoutError: the chief did not listen within ten minutes.
            NotAuthentic: another server listens at the address.
        """
        deadline = time.monotonic() + START_TIMEOUT_S
        for pause_s in Backoff(0.01, 1.0).pauses():
            sock: Optional[socket.socket] = None
            try:
                sock = socket.create_connection(self._address, timeout=10)
                _tune(sock)
                self._channel = Channel.connect(sock, self._key)
                return
            except NotAuthentic:
                _close(sock)
                raise
            except OSError as error:
                _close(sock)
                if time.monotonic() > deadline:
                    host, port = self._address
                    raise TimeoutError(
                        f"the chief did not listen at {host}:{port} within "
                        f"{START_TIMEOUT_S:.0f} s: {error}"
                    ) from error
                time.sleep(pause_s)

    def send(self, obj: Any) -> None:
        """Send a value to the chief; errors as `Channel.send`."""
        self._connected.send(obj)

    def recv(self) -> Any:
        """Wait for the chief's next value; errors as `Channel.receive`."""
        return self._connected.receive()

    def close(self) -> None:
        """Close the connection."""
        if self._channel is not None:
            self._channel.close()

    @property
    def _connected(self) -> Channel:
        if self._channel is None:
            raise RuntimeError("the client is not connected yet: call safe_start first")
        return self._channel


def _parse_url(url: str) -> Tuple[str, int]:
    scheme, _, rest = url.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme != "tcp" or not port.isdigit():
        raise ValueError(f"{url!r} is not an address such as tcp://127.0.0.1:12360")
    return host.strip("[]"), int(port)


def _listen(host: str, port: int) -> socket.socket:
    if host in ("*", ""):
        if socket.has_dualstack_ipv6():
            with contextlib.suppress(OSError):
                return socket.create_server(
                    ("", port), family=socket.AF_INET6, dualstack_ipv6=True
                )
        return socket.create_server(("", port))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _close(sock: Optional[socket.socket]) -> None:
    if sock is not None:
        sock.close()


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
