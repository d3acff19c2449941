"""The key proxy in front of a server without authentication."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from tests.interactive.conftest import free_port

from determined.exec._servers.key_proxy import HEADER, MAX_HEAD_BYTES, KeyProxy, read_key

KEY = "secret"
SHOWN = HEADER.title() + b": " + KEY.encode()
DEADLINE_S = 10


class Echo:
    """A server that sends back what it is sent, first word in front."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with client:
                    while data := client.recv(65536):
                        client.sendall(data)


@pytest.fixture
def port() -> Iterator[int]:
    number = free_port()
    with KeyProxy(number, KEY) as door, contextlib.closing(Echo(door.inner_port)):
        yield number


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as made:
        yield made


def whole(made: socket.socket) -> bytes:
    made.shutdown(socket.SHUT_WR)
    found = b""
    while data := made.recv(65536):
        found += data
    return found


def test_a_connection_with_the_key_is_forwarded_without_the_key(
    port: int,
) -> None:
    with connected(port) as made:
        made.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + SHOWN + b"\r\nA: b\r\n\r\nbody")
        assert whole(made) == b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\nbody"


def test_much_is_carried_both_ways(port: int) -> None:
    sent = b"0123456789abcdef" * 65536
    with connected(port) as made:
        made.sendall(b"GET / HTTP/1.1\r\n" + SHOWN + b"\r\n\r\n")
        threading.Thread(target=made.sendall, args=(sent,), daemon=True).start()
        found = b""
        while len(found) < len(sent) + 18:
            found += made.recv(65536)
        assert found[18:] == sent


@pytest.mark.parametrize(
    "headers",
    [
        b"",
        HEADER + b": other\r\n",
        HEADER + b": \r\n",
        SHOWN + b"\r\n" + SHOWN + b"\r\n",
        b"Cookie: " + KEY.encode() + b"\r\n",
    ],
)
def test_a_connection_without_the_right_key_is_refused(port: int, headers: bytes) -> None:
    with connected(port) as made:
        made.sendall(b"GET / HTTP/1.1\r\n" + headers + b"\r\n")
        assert whole(made).startswith(b"HTTP/1.1 403 Forbidden\r\n")


def test_a_head_without_an_end_is_cut_off(port: int) -> None:
    with connected(port) as made:
        with contextlib.suppress(OSError):
            made.sendall(b"GET / HTTP/1.1\r\nA: " + b"x" * (2 * MAX_HEAD_BYTES))
        with contextlib.suppress(ConnectionResetError):
            assert made.recv(10) == b""


def test_its_end_ends_its_connections() -> None:
    number = free_port()
    door = KeyProxy(number, KEY)
    with door, contextlib.closing(Echo(door.inner_port)):
        made = socket.create_connection(("127.0.0.1", number), DEADLINE_S)
        made.sendall(b"GET / HTTP/1.1\r\n" + SHOWN + b"\r\n\r\n")
        assert made.recv(100)
    with made, contextlib.suppress(ConnectionResetError):
        assert made.recv(100) == b""


def test_without_a_key_file_there_is_none(tmp_path: object) -> None:
    assert read_key(str(tmp_path)) == ""
