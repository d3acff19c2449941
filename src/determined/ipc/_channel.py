"""An authenticated connection between two ranks.

Both ends prove that they have the key before they read messages. Every message has a sequence
number and a MAC with a key of this connection, so modified, dropped and replayed messages are
detected. Messages are not encrypted.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
from typing import Any, Tuple

from determined.ipc._codec import decode, encode

MAX_MESSAGE_BYTES = 1 << 32
HANDSHAKE_TIMEOUT_S = 10.0
_GREETING = b"determined-ranks-1\n"
_NONCE = 32
_MAC = 32


class PeerGone(ConnectionError):
    """The other rank closed the connection, usually because it exited."""


class NotAuthentic(ConnectionError):
    """The peer does not have the key, or a message was modified."""


class Channel:
    """Sends and receives values over a socket; made by `accept` or `connect`."""

    def __init__(self, sock: socket.socket, send_key: bytes, receive_key: bytes) -> None:
        self._sock = sock
        self._send_key = send_key
        self._receive_key = receive_key
        self._sent = 0
        self._received = 0

    @classmethod
    def accept(cls, sock: socket.socket, key: bytes) -> Channel:
        """Perform the handshake as the listening side.

        Raises:
            NotAuthentic, PeerGone, TimeoutError: the peer is not a rank of this task.
        """
        sock.settimeout(HANDSHAKE_TIMEOUT_S)
        mine = os.urandom(_NONCE)
        sock.sendall(_GREETING + mine)
        theirs, proof = _split(_read(sock, _NONCE + _MAC))
        if not hmac.compare_digest(proof, _mac(key, b"client", mine, theirs)):
            raise NotAuthentic("a connection without this allocation's key was refused")
        sock.sendall(_mac(key, b"server", mine, theirs))
        sock.settimeout(None)
        return cls(sock, _mac(key, b"down", mine, theirs), _mac(key, b"up", mine, theirs))

    @classmethod
    def connect(cls, sock: socket.socket, key: bytes) -> Channel:
        """Perform the handshake as the connecting side; errors as `accept`."""
        sock.settimeout(HANDSHAKE_TIMEOUT_S)
        greeting = _read(sock, len(_GREETING) + _NONCE)
        if not greeting.startswith(_GREETING):
            raise NotAuthentic("another server listens at this address, not a rank of this task")
        theirs, mine = greeting[len(_GREETING) :], os.urandom(_NONCE)
        sock.sendall(mine + _mac(key, b"client", theirs, mine))
        if not hmac.compare_digest(_read(sock, _MAC), _mac(key, b"server", theirs, mine)):
            raise NotAuthentic("the chief does not have this allocation's key")
        sock.settimeout(None)
        return cls(sock, _mac(key, b"up", theirs, mine), _mac(key, b"down", theirs, mine))

    def send(self, value: Any) -> None:
        """Send one value.

        Raises:
            TypeError: its type cannot be sent.
            PeerGone: the connection is closed.
        """
        self.send_encoded(encode(value))

    def send_encoded(self, payload: bytes) -> None:
        """Send a value that is already encoded; errors as `send`."""
        header = struct.pack(">QQ", self._sent, len(payload))
        self._sent += 1
        try:
            self._sock.sendall(header + _mac(self._send_key, header, payload) + payload)
        except OSError as error:
            raise PeerGone(f"the connection to another rank failed: {error}") from error

    def receive(self) -> Any:
        """Wait for the next value.

        Raises:
            PeerGone: the connection is closed.
            NotAuthentic: the message was modified, dropped or replayed.
        """
        header = _read(self._sock, 16)
        number, size = struct.unpack(">QQ", header)
        if number != self._received or size > MAX_MESSAGE_BYTES:
            raise NotAuthentic(
                f"got message {number} of {size} bytes, expected number {self._received}"
            )
        mac = _read(self._sock, _MAC)
        payload = _read(self._sock, size)
        if not hmac.compare_digest(mac, _mac(self._receive_key, header, payload)):
            raise NotAuthentic("a message between ranks was modified in transit")
        self._received += 1
        return decode(payload)

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()


def _split(data: bytes) -> Tuple[bytes, bytes]:
    return data[:_NONCE], data[_NONCE:]


def _mac(key: bytes, *parts: bytes) -> bytes:
    code = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        code.update(part)
    return code.digest()


def _read(sock: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view = memoryview(data)
    at = 0
    while at < size:
        try:
            count = sock.recv_into(view[at:])
        except socket.timeout as error:  # an alias of TimeoutError from Python 3.10 on
            raise TimeoutError("the handshake with another rank timed out") from error
        except OSError as error:
            raise PeerGone(f"the connection to another rank failed: {error}") from error
        if not count:
            raise PeerGone("another rank closed its connection")
        at += count
    return bytes(data)
