"""A thread-safe pool of kept-alive connections to one master."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from base64 import b64encode
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from determined.common.api._address import ServerAddress, parse_address
from determined.common.api._http import (
    Answer,
    Connection,
    Disconnected,
    UploadProgress,
)
from determined.common.api._proxy import Proxy, ProxyError, proxy_for
from determined.common.api.certs import Cert

CONNECT_TIMEOUT_S = 20.0
READ_TIMEOUT_S = 300.0
"""The timeout for a response. TCP keep-alives detect a dead machine within a minute."""
MAX_IDLE = 8


class Response:
    """A response. Without `stream` its body is already read."""

    def __init__(self, answer: Answer, release: Callable[[bool], None]) -> None:
        self.status_code = answer.status
        self.reason = answer.reason
        self.headers = answer.headers
        self._answer = answer
        self._release: Optional[Callable[[bool], None]] = release
        self._content: Optional[bytes] = None
        self._is_read = False

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return bool(self.status_code < 400)

    @property
    def content(self) -> bytes:
        """The whole body."""
        return self.read()

    @property
    def text(self) -> str:
        """The whole body as UTF-8, with invalid bytes replaced."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON; None if it is empty.

        Raises:
            ValueError: it is not JSON.
        """
        return json.loads(self.content) if self.content.strip() else None

    def read(self) -> bytes:
        """Read the whole body, and release the connection.

        Raises:
            OSError: the body is truncated.
        """
        if self._content is None:
            self._content = b"".join(self.iter_content())
        return self._content

    def iter_content(self, chunk_size: int = 1 << 16) -> Iterator[bytes]:
        """Iterate over the body as it arrives, in chunks of at most `chunk_size` bytes."""
        try:
            while True:
                piece = self._answer.read(chunk_size)
                if not piece:
                    self._is_read = True
                    break
                yield piece
        finally:
            self.close()

    def iter_lines(self) -> Iterator[bytes]:
        """Iterate over the lines of the body as they arrive, without line ends."""
        rest = b""
        for piece in self.iter_content():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line.rstrip(b"\r")
        if rest:
            yield rest

    def close(self) -> None:
        """Release the connection; close it if the body was not fully read."""
        release, self._release = self._release, None
        if release is not None:
            release(self._is_read and self._answer.is_kept_alive)


class Transport:
    """A connection pool for one master; thread-safe."""

    def __init__(self, master: str, cert: Optional[Cert] = None) -> None:
        self._address = parse_address(master)
        self.proxy = proxy_for(self._address)
        self._cert = cert or Cert()
        self._tls: Any = None
        self._lock = threading.Lock()
        self._idle: List[Connection] = []
        self._busy: Dict[int, Connection] = {}
        self._is_closed = False
        self.on_upload: Optional[UploadProgress] = None
        """Called with the bytes sent and the total bytes of each body."""

    def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        timeout_s: Optional[float],
    ) -> Response:
        """Send one request and read the head of its response.

        Raises:
            OSError: there was no valid response.
            InvalidRequestException: the request is invalid.
        """
        request = (method, self._target(target), {**headers, **self._proxy_headers()}, body)
        connection, is_reused = self._take()
        try:
            try:
                answer = _exchange(connection, request, timeout_s, self.on_upload)
            except (Disconnected, BrokenPipeError, ConnectionResetError):
                if not is_reused or self._is_closed:
                    raise
                # The master closed the idle connection before it read the request.
                self._drop(connection)
                connection = self._open()
                answer = _exchange(connection, request, timeout_s, self.on_upload)
        except BaseException:
            self._drop(connection)
            raise
        return Response(answer, lambda is_reusable: self._give(connection, is_reusable))

    def close(self) -> None:
        """Close all connections; pending calls fail."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy.values())
        for connection in idle:
            connection.close()
        for connection in busy:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def reopen(self) -> None:
        """Allow connections again after `close`."""
        self._is_closed = False

    def _target(self, path: str) -> str:
        target = self._address.path + path
        if self.proxy is not None and self._address.scheme == "http":
            return f"http://{self._address.origin}{target}"
        return target

    def _proxy_headers(self) -> Dict[str, str]:
        """Proxy headers for plain HTTP requests; for TLS they are sent with CONNECT."""
        return _credentials(self.proxy) if self._address.scheme == "http" else {}

    def _take(self) -> Tuple[Connection, bool]:
        """A connection, and whether it was used before."""
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
            self._drop(connection)  # the master closed it while it was idle

    def _open(self) -> Connection:
        sock = _dial(self._address, self.proxy)
        try:
            _keep_alive(sock)
            if self._address.scheme == "https":
                self._tls = self._tls or self._cert.ssl_context()
                sock = _wrap(sock, self._address, self.proxy, (self._tls, self._cert.name))
        except BaseException:
            sock.close()
            raise
        connection = Connection(sock, self._address.origin)
        with self._lock:
            self._busy[id(connection)] = connection
            if self._is_closed:  # closed during it: fail the next request
                sock.close()
        return connection

    def _give(self, connection: Connection, is_reusable: bool) -> None:
        with self._lock:
            self._busy.pop(id(connection), None)
            if is_reusable and not self._is_closed and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _drop(self, connection: Connection) -> None:
        self._give(connection, False)


def connect(address: ServerAddress, cert: Cert) -> socket.socket:
    """Open a raw connection to a master, through a proxy with CONNECT.

    Raises:
        OSError: the connection failed.
    """
    proxy = proxy_for(address)
    sock = _dial(address, proxy)
    try:
        _keep_alive(sock)
        if address.scheme == "https":
            return _wrap(sock, address, proxy, (cert.ssl_context(), cert.name))
        if proxy is not None:
            _pass(sock, address, proxy)
        return sock
    except BaseException:
        sock.close()
        raise


def _dial(address: ServerAddress, proxy: Optional[Proxy]) -> socket.socket:
    """A TCP connection to the proxy, or to the master."""
    to = proxy.address if proxy else address
    try:
        return socket.create_connection((to.host, to.port), CONNECT_TIMEOUT_S)
    except UnicodeError:
        raise OSError(f"{to.host!r} is not a valid host name") from None
    except OSError as error:
        if proxy is None:
            raise
        raise _unreachable(proxy, address, error) from error


def _wrap(
    sock: socket.socket,
    address: ServerAddress,
    proxy: Optional[Proxy],
    tls: Tuple[Any, Optional[str]],
) -> socket.socket:
    if proxy is not None:
        _pass(sock, address, proxy)
    context, name = tls
    try:
        wrapped: socket.socket = context.wrap_socket(sock, server_hostname=name or address.host)
    except OSError:  # among them errors of certificates, which are ValueErrors, too
        raise
    except ValueError:
        raise OSError(f"{name or address.host!r} is not a valid host name") from None
    return wrapped


def _pass(sock: socket.socket, address: ServerAddress, proxy: Proxy) -> None:
    """Send CONNECT to a proxy."""
    through = Connection(sock, address.origin)
    try:
        answer = through.exchange("CONNECT", address.origin, _credentials(proxy), None)
    except OSError as error:
        raise _unreachable(proxy, address, error) from error
    finally:
        through.leave_socket()
    if answer.status >= 300:
        reason = f"it answered {answer.status} {answer.reason}".rstrip()
        raise ProxyError(proxy, address, reason)


def _unreachable(proxy: Proxy, address: ServerAddress, error: OSError) -> ProxyError:
    return ProxyError(proxy, address, error.strerror or str(error))


def _exchange(
    connection: Connection,
    request: Tuple[str, str, Mapping[str, str], Optional[bytes]],
    timeout_s: Optional[float],
    on_progress: Optional[UploadProgress],
) -> Answer:
    connection.sock.settimeout(READ_TIMEOUT_S if timeout_s is None else timeout_s)
    return connection.exchange(*request, on_progress)


def _credentials(proxy: Optional[Proxy]) -> Dict[str, str]:
    userinfo = proxy.address.userinfo if proxy else ""
    if not userinfo:
        return {}
    return {"Proxy-Authorization": "Basic " + b64encode(userinfo.encode()).decode()}


def _is_readable(sock: socket.socket) -> bool:
    """Whether an idle socket has data or was closed; it cannot be reused then."""
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = [("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)]
    # Also for unacknowledged data, which the kernel would resend for 15 minutes.
    options.append(("TCP_USER_TIMEOUT", 55_000))
    for option, value in options:
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
