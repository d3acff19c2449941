"""One authenticated connection between two ranks.

Both ends prove that they hold the key before anything else is read, and every message carries
a code made with a key of this connection and its number in the stream: a message that was
changed, left out or played again ends the connection. Nothing is encrypted.
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
    """The other rank closed the connection, most likely because it ended."""


class NotAuthentic(ConnectionError):
    """The other end does not hold the key, or a message was tampered with."""


class Channel:
    """Sends and receives values over a connected socket, after `greet_as_*`."""

    def __init__(self, sock: socket.socket, send_key: bytes, receive_key: bytes) -> None:
        self._sock = sock
        self._send_key = send_key
        self._receive_key = receive_key
        self._sent = 0
        self._received = 0

    @classmethod
    def accept(cls, sock: socket.socket, key: bytes) -> Channel:
        """Greet as the side that listens.

        Raises:
            NotAuthentic, PeerGone, TimeoutError: the peer is none of ours.
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
        """Greet as the side that called; errors as `accept`."""
        sock.settimeout(HANDSHAKE_TIMEOUT_S)
        greeting = _read(sock, len(_GREETING) + _NONCE)
        if not greeting.startswith(_GREETING):
            raise NotAuthentic("what listens there is no rank of this task")
        theirs, mine = greeting[len(_GREETING) :], os.urandom(_NONCE)
        sock.sendall(mine + _mac(key, b"client", theirs, mine))
        if not hmac.compare_digest(_read(sock, _MAC), _mac(key, b"server", theirs, mine)):
            raise NotAuthentic("the chief does not hold this allocation's key")
        sock.settimeout(None)
        return cls(sock, _mac(key, b"up", theirs, mine), _mac(key, b"down", theirs, mine))

    def send(self, value: Any) -> None:
        """Send one value.

        Raises:
            TypeError: it is of a kind that cannot be sent.
            PeerGone: the connection is closed.
        """
        self.send_encoded(encode(value))

    def send_encoded(self, payload: bytes) -> None:
        """Send a value that `encode` already wrote; errors as `send`."""
        header = struct.pack(">QQ", self._sent, len(payload))
        self._sent += 1
        try:
            self._sock.sendall(header + _mac(self._send_key, header, payload) + payload)
        except OSError as error:
            raise PeerGone(f"another rank has gone away: {error}") from error

    def receive(self) -> Any:
        """Wait for the next value.

        Raises:
            PeerGone: the connection is closed.
            NotAuthentic: what came is not what the peer sent.
        """
        header = _read(self._sock, 16)
        number, size = struct.unpack(">QQ", header)
        if number != self._received or size > MAX_MESSAGE_BYTES:
            raise NotAuthentic(f"message {number} of {size} bytes where {self._received} is due")
        mac = _read(self._sock, _MAC)
        payload = _read(self._sock, size)
        if not hmac.compare_digest(mac, _mac(self._receive_key, header, payload)):
            raise NotAuthentic("a message between ranks was changed on its way")
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
        except socket.timeout as error:  # an alias of TimeoutError only from 3.10 on
            raise TimeoutError("another rank did not greet in time") from error
        except OSError as error:
            raise PeerGone(f"another rank has gone away: {error}") from error
        if not count:
            raise PeerGone("another rank has gone away: it closed its connection")
        at += count
    return bytes(data)
