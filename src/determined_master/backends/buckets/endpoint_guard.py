"""A proxy on this machine through which the master reads storages that users name.

A storage's client follows redirects and resolves names itself. The proxy passes its connections to
the storage's own host and port only, and checks the address after resolution.
"""

from __future__ import annotations

import base64
import contextlib
import re
import socket
import socketserver
import threading
from urllib.parse import urlsplit

import msgspec

from determined_master import entropy
from determined_master.backends.named_hosts import Endpoint, resolve
from determined_master.domain.addresses import find_problem

MAX_HEAD_BYTES = 64 * 1024
MAX_RULES = 1000
"""Endpoints that are known at the same time; the one that was not used for longest is dropped."""
CONNECT_S = 10.0
IDLE_S = 300.0
PIECE_BYTES = 256 * 1024
_HOP = re.compile(rb"^(?:proxy-[a-z-]+|connection|keep-alive):", re.IGNORECASE)


class PrivateEndpoint(OSError):
    """The endpoint is at an address that users may not name."""


class _Rule(msgspec.Struct, frozen=True):
    host: str
    port: int
    may_be_private: bool


class EndpointGuard:
    """The proxy, started by the first endpoint. Call `close` at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def proxy_for(self, url: str, *, may_be_private: bool) -> str:
        """The URL of a proxy that leads to one endpoint.

        Args:
            url: of the endpoint.
            may_be_private: whether it may be at a loopback, link-local or private address.
        """
        parts = urlsplit(url)
        port = parts.port or (80 if parts.scheme == "http" else 443)
        rule = _Rule((parts.hostname or "").lower(), port, may_be_private)
        with self._lock:
            if self._server is None:
                self._server = _Server()
            return self._server.url_of(rule)

    def close(self) -> None:
        """Stop listening; connections end with their readers."""
        with self._lock:
            if self._server is not None:
                self._server.shutdown()
                self._server.server_close()
                self._server = None


def check_public(url: str) -> None:
    """Check that the host of a URL has only public addresses.

    Raises:
        PrivateEndpoint: it has another one. OSError: it has none.
    """
    parts = urlsplit(url)
    _addresses(parts.hostname or "", parts.port or 443, may_be_private=False)


def _addresses(host: str, port: int, *, may_be_private: bool) -> list[Endpoint]:
    def check(address: str) -> None:
        problem = None if may_be_private else find_problem(host, address)
        if problem is not None:
            raise PrivateEndpoint(
                f"{problem}: an admin can name the endpoint in "
                "checkpoint_storage.allowed_endpoints"
            )

    return resolve(host, port, check)


def connect(host: str, port: int, *, may_be_private: bool = False) -> socket.socket:
    """Connect to a host, at a public address unless it may be private.

    Raises:
        PrivateEndpoint: the name leads to another address. OSError: it does not answer.
    """
    fault: OSError | None = None
    for family, kind, protocol, _, address in _addresses(
        host, port, may_be_private=may_be_private
    ):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(CONNECT_S)
        try:
            sock.connect(address)
        except OSError as error:
            sock.close()
            fault = error
        else:
            return sock
    raise fault or OSError(f"{host} has no address")


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.rules: dict[str, _Rule] = {}
        threading.Thread(target=self.serve_forever, name="endpoint-guard", daemon=True).start()

    def url_of(self, rule: _Rule) -> str:
        keys = {rule_of_key: key for key, rule_of_key in self.rules.items()}
        key = keys.get(rule) or entropy.token()
        self.rules.pop(key, None)
        self.rules[key] = rule  # the latest one is the last
        if len(self.rules) > MAX_RULES:
            del self.rules[next(iter(self.rules))]
        return f"http://{key}:x@127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.request.settimeout(CONNECT_S)
        with contextlib.suppress(OSError):
            head, rest = self._head()
            try:
                upstream, first = self._open(head)
            except OSError as error:
                text = str(error).encode(errors="replace")[:500]
                size = b"%d" % len(text)
                self.request.sendall(
                    b"HTTP/1.1 403 Forbidden\r\ncontent-length: " + size + b"\r\n\r\n" + text
                )
                return
            with upstream:
                _join(self.request, upstream, first + rest)

    def _head(self) -> tuple[list[bytes], bytes]:
        found = b""
        while b"\r\n\r\n" not in found:
            piece = self.request.recv(65536)
            found += piece
            if not piece or len(found) > MAX_HEAD_BYTES:
                raise OSError("no head of a request")
        head, _, rest = found.partition(b"\r\n\r\n")
        return head.split(b"\r\n"), rest

    def _open(self, head: list[bytes]) -> tuple[socket.socket, bytes]:
        """A connection to the endpoint, and what it gets first."""
        method, target, version = head[0].split(b" ", 2)
        rule = self._rule(head)
        is_tunnel = method == b"CONNECT"
        parts = urlsplit(f"//{target.decode()}" if is_tunnel else target.decode())
        port = parts.port or 80
        if rule is None or ((parts.hostname or "").lower(), port) != (rule.host, rule.port):
            raise PrivateEndpoint(
                f"{parts.hostname}:{port} is not the storage's endpoint (a redirect?)"
            )
        upstream = connect(rule.host, rule.port, may_be_private=rule.may_be_private)
        if is_tunnel:
            self.request.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            return upstream, b""
        path = parts.path or "/"
        origin = f"{path}?{parts.query}" if parts.query else path
        lines = [b" ".join((method, origin.encode(), version))]
        lines += [line for line in head[1:] if not _HOP.match(line)]
        return upstream, b"\r\n".join([*lines, b"connection: close", b"", b""])

    def _rule(self, head: list[bytes]) -> _Rule | None:
        for line in head[1:]:
            name, _, value = line.partition(b":")
            kind, _, code = value.strip().partition(b" ")
            if name.lower() == b"proxy-authorization" and kind.lower() == b"basic":
                key = base64.b64decode(code).decode(errors="replace").partition(":")[0]
                return self.server.rules.get(key)
        return None


def _join(client: socket.socket, upstream: socket.socket, first: bytes) -> None:
    """Copy in both directions until one side ends."""
    for sock in (client, upstream):
        sock.settimeout(IDLE_S)
    if first:
        upstream.sendall(first)

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=copy, args=(client, upstream), daemon=True)
    back.start()
    copy(upstream, client)
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RD)
    back.join(CONNECT_S)
