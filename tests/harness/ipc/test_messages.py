"""Messages between ranks, and their authentication."""

from __future__ import annotations

import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from determined.ipc import BroadcastClient, BroadcastServer, NotAuthentic, PeerGone
from determined.ipc._channel import Channel
from determined.ipc._codec import decode, encode

VALUES = [
    None,
    True,
    0,
    -(10**30),
    1.5,
    "text ü \ud800",
    b"\x00\xff",
    [1, [2, (3,)]],
    (1, "a"),
    {1, 2},
    frozenset({"x"}),
    {"a": 1, "!": 2},
    {1: "one", (2, 3): b"x", None: []},
    pathlib.Path("/a/b"),
    float("inf"),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_arrives_as_it_was(value: Any) -> None:
    arrived = decode(encode(value))
    assert arrived == value
    assert type(arrived) is type(value) or isinstance(value, pathlib.Path)


def test_numpy_numbers_arrive_as_pythons_and_arrays_as_they_were() -> None:
    assert decode(encode([numpy.float32(0.5), numpy.int64(3), numpy.bool_(True)])) == [
        0.5,
        3,
        True,
    ]
    array = numpy.arange(6, dtype="<f4").reshape(2, 3).T
    arrived = decode(encode(array))
    assert arrived.dtype == array.dtype
    assert (arrived == array).all()


@pytest.mark.parametrize("value", [object(), lambda: 0, numpy.array([object()]), [print]])
def test_a_value_that_cannot_be_sent_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match=r"of type .* cannot be sent between ranks"):
        encode(value)


@pytest.mark.parametrize("data", [b"{", b'{"!":["eval","1"]}', b'{"!":3}'])
def test_an_invalid_message_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # JSON's own error among them
        decode(data)


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    pair = socket.socketpair()
    yield pair
    for end in pair:
        end.close()


def greet(sockets: tuple[socket.socket, socket.socket], keys: tuple[bytes, bytes]) -> list[Any]:
    """Both ends' channels, or what they raised."""
    outcome: list[Any] = [None, None]

    def run(at: int, greeting: Any) -> None:
        try:
            outcome[at] = greeting(sockets[at], keys[at])
        except ConnectionError as error:
            outcome[at] = error
            sockets[at].close()

    threads = [
        threading.Thread(target=run, args=(0, Channel.accept)),
        threading.Thread(target=run, args=(1, Channel.connect)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return outcome


def test_two_that_hold_the_key_can_talk(sockets: Any) -> None:
    server, client = greet(sockets, (b"key", b"key"))
    server.send({"a": 1})
    client.send((2,))
    assert client.receive() == {"a": 1}
    assert server.receive() == (2,)


def test_one_without_the_key_is_refused(sockets: Any) -> None:
    server, client = greet(sockets, (b"key", b"other"))
    assert isinstance(server, NotAuthentic)
    assert isinstance(client, (PeerGone, NotAuthentic))


def test_a_changed_message_is_refused(sockets: Any) -> None:
    server, client = greet(sockets, (b"key", b"key"))
    server._send_key = b"forged"
    server.send("x")
    with pytest.raises(NotAuthentic, match="modified in transit"):
        client.receive()


def test_a_repeated_message_is_refused(sockets: Any) -> None:
    server, client = greet(sockets, (b"key", b"key"))
    server.send("x")
    server._sent = 0
    server.send("x")
    assert client.receive() == "x"
    with pytest.raises(NotAuthentic, match="message 0"):
        client.receive()


def test_an_unauthenticated_connection_does_not_block_a_worker() -> None:
    with BroadcastServer(1, key=b"key") as server:
        port = server.get_pub_port()
        stranger = socket.create_connection(("127.0.0.1", port))
        stranger.sendall(b"GET / HTTP/1.1\r\n" * 10)
        client = BroadcastClient(f"tcp://127.0.0.1:{port}", key=b"key")
        starting = threading.Thread(target=client.safe_start)
        starting.start()
        server.safe_start()
        starting.join(timeout=60)
        stranger.close()
        server.broadcast([1, 2])
        assert client.recv() == [1, 2]
        client.send("answer")
        assert server.gather() == ["answer"]
        client.close()
        with pytest.raises(PeerGone):
            server.gather()
