"""HTTP/1.1 to one master over kept-alive connections; standard library only.

urllib3 would take 90 ms to import, twice in every task (the entry chain and the user's
program): that is a quarter of the time from submit to user code. `http.client` takes 35 ms.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import threading
from base64 import b64encode
from typing import Any, Dict, Iterator, List, Mapping, Optional

from determined.common.api._address import Address, parse_address, proxy_for
from determined.common.api.certs import Cert

CONNECT_TIMEOUT_S = 20.0
READ_TIMEOUT_S = 300.0
"""How long an answer may stay away. TCP keep-alives find a dead machine in a minute."""
MAX_IDLE = 8


class Response:
    """An answer. Without `stream` its body is already read."""

    def __init__(self, raw: http.client.HTTPResponse, release: Any) -> None:
        self.status_code = raw.status
        self.reason = raw.reason
        self.headers = raw.headers
        self._raw = raw
        self._release = release
        self._content: Optional[bytes] = None
        self._is_read = False

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status_code < 400

    @property
    def content(self) -> bytes:
        """The whole body."""
        if self._content is None:
            self._content = b"".join(self.iter_content())
        return self._content

    @property
    def text(self) -> str:
        """The whole body as UTF-8; what is not UTF-8 is replaced."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON; an empty one is None.

        Raises:
            ValueError: it is not JSON.
        """
        return json.loads(self.content) if self.content.strip() else None

    def iter_content(self, chunk_size: int = 1 << 16) -> Iterator[bytes]:
        """The body as it arrives, in pieces of at most `chunk_size` bytes."""
        try:
            while True:
                piece = self._raw.read1(chunk_size)
                if not piece:
                    self._is_read = True
                    break
                yield piece
        finally:
            self.close()

    def iter_lines(self) -> Iterator[bytes]:
        """The lines of the body as they arrive, without their ends."""
        rest = b""
        for piece in self.iter_content():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line.rstrip(b"\r")
        if rest:
            yield rest

    def close(self) -> None:
        """Give the connection back, or drop it when the body was not read to its end."""
        release, self._release = self._release, None
        if release is not None:
            is_reusable = self._is_read and not self._raw.will_close
            self._raw.close()
            release(is_reusable)


class Transport:
    """Connections to one master, safe to use from several threads at once."""

    def __init__(self, master: str, cert: Optional[Cert] = None) -> None:
        self._address = parse_address(master)
        self._proxy = proxy_for(self._address)
        self._cert = cert or Cert()
        self._tls: Any = None
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []
        self._busy: Dict[int, http.client.HTTPConnection] = {}
        self._is_closed = False

    def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        timeout_s: Optional[float],
    ) -> Response:
        """Send one request and read the head of its answer.

        Raises:
            OSError, http.client.HTTPException: nothing usable came back.
        """
        connection, is_reused = self._take()
        try:
            try:
                raw = self._exchange(connection, (method, target, headers, body), timeout_s)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                if not is_reused or self._is_closed:
                    raise
                # The master closed an idle connection as we wrote to it: it read nothing.
                self._drop(connection)
                connection = self._open()
                raw = self._exchange(connection, (method, target, headers, body), timeout_s)
        except BaseException:
            self._drop(connection)
            raise
        return Response(raw, lambda is_reusable: self._give(connection, is_reusable))

    def close(self) -> None:
        """Close every connection; a call that waits for an answer ends with an error."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy.values())
        for connection in idle:
            connection.close()
        for connection in busy:
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def reopen(self) -> None:
        """Allow connections again after `close`."""
        self._is_closed = False

    def _exchange(
        self, connection: http.client.HTTPConnection, request: Any, timeout_s: Optional[float]
    ) -> http.client.HTTPResponse:
        method, target, headers, body = request
        path = self._address.path + target
        if self._proxy is not None and self._address.scheme == "http":
            path = f"http://{self._address.origin}{path}"
            headers = {**headers, **self._proxy_headers()}
        if connection.sock is None:
            connection.timeout = CONNECT_TIMEOUT_S
            connection.connect()
            _keep_alive(connection.sock)
        connection.sock.settimeout(READ_TIMEOUT_S if timeout_s is None else timeout_s)
        connection.request(method, path, body=body, headers=dict(headers))
        return connection.getresponse()

    def _take(self) -> Any:
        while True:
            with self._lock:
                if self._is_closed:
                    raise ConnectionAbortedError("the session is closed")
                connection = self._idle.pop() if self._idle else None
                if connection is not None:
                    self._busy[id(connection)] = connection
            if connection is None:
                return self._open(), False
            if not _is_readable(connection.sock):
                return connection, True
            self._drop(connection)  # closed by the master while it lay idle

    def _open(self) -> http.client.HTTPConnection:
        to = self._proxy or self._address
        connection: http.client.HTTPConnection
        if self._address.scheme == "https":
            connection = self._open_tls(to)
        else:
            connection = http.client.HTTPConnection(to.host, to.port)
        with self._lock:
            self._busy[id(connection)] = connection
        return connection

    def _open_tls(self, to: Address) -> http.client.HTTPConnection:
        if self._tls is None:
            self._tls = self._cert.ssl_context()
        connection = http.client.HTTPSConnection(to.host, to.port, context=self._tls)
        if self._proxy is not None:
            connection.set_tunnel(self._address.host, self._address.port, self._proxy_headers())
        elif self._cert.name:
            # The certificate's name differs from the address: present that name instead.
            wrap = self._tls.wrap_socket
            name = self._cert.name

            class _Named:
                def wrap_socket(self, sock: socket.socket, **_: Any) -> Any:
                    return wrap(sock, server_hostname=name)

            connection._context = _Named()  # type: ignore[attr-defined]  # no public way in 3.9
        return connection

    def _proxy_headers(self) -> Dict[str, str]:
        if self._proxy is None or not self._proxy.userinfo:
            return {}
        token = b64encode(self._proxy.userinfo.encode()).decode()
        return {"Proxy-Authorization": f"Basic {token}"}

    def _give(self, connection: http.client.HTTPConnection, is_reusable: bool) -> None:
        with self._lock:
            self._busy.pop(id(connection), None)
            if is_reusable and not self._is_closed and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        self._give(connection, False)


def _is_readable(sock: Optional[socket.socket]) -> bool:
    """Whether an idle socket has bytes or an end waiting: either way it is of no more use."""
    if sock is None or sock.fileno() < 0:
        return True
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


def _keep_alive(sock: Optional[socket.socket]) -> None:
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
