"""Entries of the journal, in batches that a cloud takes. Pure.

Limits: the documentation of PutLogEvents and of entries.write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

OWN_UNIT = "determined-journal.service"
"""Its own lines are not sent: a failure to send would cause more of them."""
MAX_TEXT_BYTES = 256_000
"""Of one entry. Both clouds take 262,144, and count a few for themselves."""
INFO = 6
"""The priority of an entry without one, as syslog counts."""
_CUT = " … (cut)"


class Limits(msgspec.Struct, frozen=True):
    """The limits of a batch."""

    events: int
    bytes: int
    overhead_bytes: int
    """That count for each event, beside its text."""
    span_ms: int
    """The time between the first event and the last one is shorter."""


CLOUDWATCH = Limits(10_000, 1_048_576, 26, 24 * 3600 * 1000)
GOOGLE = Limits(1_000, 1_048_576, 512, 24 * 3600 * 1000)


class Entry(msgspec.Struct, frozen=True):
    """One entry of the journal."""

    cursor: str
    """Where the journal continues after it."""
    at_us: int
    text: str
    """Unit or program, and message; empty for an entry that is not sent."""
    priority: int = INFO
    """As syslog counts: 0 for an emergency, 7 for debugging."""

    @property
    def at_ms(self) -> int:
        """Its time in milliseconds."""
        return self.at_us // 1000


def entry_of(line: bytes) -> Entry | None:
    """A line of `journalctl --output=json`; None if it is no entry."""
    try:
        fields = msgspec.json.decode(line)
        cursor, at_us = str(fields["__CURSOR"]), int(fields["__REALTIME_TIMESTAMP"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return None
    unit = _text(fields.get("_SYSTEMD_UNIT"))
    message = _text(fields.get("MESSAGE")).rstrip()
    source = unit.removesuffix(".service") or _text(fields.get("SYSLOG_IDENTIFIER")) or "kernel"
    text = _cut(f"{source}: {message}") if message and unit != OWN_UNIT else ""
    return Entry(cursor, at_us, text, _priority(fields.get("PRIORITY")))


def batches(entries: Sequence[Entry], limits: Limits) -> Iterator[list[Entry]]:
    """The entries that are sent, in the order of time, in as few batches as the limits allow."""
    batch: list[Entry] = []
    size = 0
    for entry in sorted((e for e in entries if e.text), key=lambda e: e.at_us):
        more = len(entry.text.encode()) + limits.overhead_bytes
        is_full = len(batch) == limits.events or size + more > limits.bytes
        if batch and (is_full or entry.at_ms - batch[0].at_ms >= limits.span_ms):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += more
    if batch:
        yield batch


def _text(value: Any) -> str:
    """A field: journalctl gives bytes that are no text as a list of numbers, long ones as null."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return bytes(n for n in value if isinstance(n, int) and 0 <= n < 256).decode(errors="replace")


def _priority(value: Any) -> int:
    is_one = isinstance(value, str) and len(value) == 1 and value in "01234567"
    return int(value) if is_one else INFO


def _cut(text: str) -> str:
    coded = text.encode()
    if len(coded) <= MAX_TEXT_BYTES:
        return text
    return coded[: MAX_TEXT_BYTES - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT
