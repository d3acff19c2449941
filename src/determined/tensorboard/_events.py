"""A writer of TensorBoard event files without TensorFlow or PyTorch.

A file is a sequence of records: length (8 bytes), its masked CRC-32C, an `Event` message, and the
masked CRC-32C of that. Only the protobuf fields of scalars are written.
Source: TensorFlow's tfrecord format and event.proto, summary.proto.
"""

from __future__ import annotations

import os
import pathlib
import socket
import struct
import time
from typing import IO, List, Optional

FILE_VERSION = "brain.Event:2"


class EventFile:
    """Appends scalars to an event file, which the first scalar creates."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._file: Optional[IO[bytes]] = None

    def add_scalar(self, name: str, value: float, step: int, wall_time_s: float) -> None:
        """Write one value."""
        if self._file is None:
            self._file = self._open(wall_time_s)
        self._file.write(record(scalar_event(name, value, step, wall_time_s)))

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file; the next scalar starts a new one."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, wall_time_s: float) -> IO[bytes]:
        os.makedirs(self._directory, exist_ok=True)
        host = socket.gethostname()
        name = f"events.out.tfevents.{time.time_ns() // 1000:016d}.{host}.{os.getpid()}"
        file = open(self._directory / name, "ab")  # noqa: SIM115  # stays open until `close`
        file.write(record(version_event(wall_time_s)))
        return file


def record(data: bytes) -> bytes:
    """One record of an event file."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, _masked_crc(length), data, _masked_crc(data)))


def version_event(wall_time_s: float) -> bytes:
    """The first event of a file."""
    return _double(1, wall_time_s) + _bytes(3, FILE_VERSION.encode())


def scalar_event(name: str, value: float, step: int, wall_time_s: float) -> bytes:
    summary = _bytes(1, _bytes(1, name.encode()) + _float(2, value))
    return _double(1, wall_time_s) + _varint(2, step) + _bytes(5, summary)


def crc32c(data: bytes) -> int:
    """The Castagnoli CRC of `data`."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked_crc(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _number(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint(field: int, value: int) -> bytes:
    return _number(field << 3) + _number(value)


def _double(field: int, value: float) -> bytes:
    return _number(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _number(field << 3 | 2) + _number(len(value)) + value


def _float(field: int, value: float) -> bytes:
    try:
        return _number(field << 3 | 5) + struct.pack("<f", value)
    except OverflowError:  # outside the range of float32
        return _number(field << 3 | 5) + struct.pack("<f", float("inf") * (1 if value > 0 else -1))


def _table() -> List[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _table()
