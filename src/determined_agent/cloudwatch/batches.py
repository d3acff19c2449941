"""Entries of the journal as events of CloudWatch Logs, in batches that it takes. Pure.

Limits: the documentation of PutLogEvents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

OWN_UNIT = "determined-cloudwatch.service"
"""Its own lines are not sent: a failure to send would cause more of them."""
MAX_EVENTS = 10_000
MAX_BYTES = 1_048_576
OVERHEAD_BYTES = 26
"""That CloudWatch adds to each event."""
MAX_EVENT_BYTES = 262_144
MAX_SPAN_MS = 24 * 3600 * 1000
_CUT = " … (cut)"


class Entry(msgspec.Struct, frozen=True):
    """One entry of the journal."""

    cursor: str
    """Where the journal continues after it."""
    at_ms: int
    text: str
    """Unit or program, and message; empty for an entry that is not sent."""

    @property
    def size(self) -> int:
        """Bytes that count in a batch."""
        return len(self.text.encode()) + OVERHEAD_BYTES


def entry_of(line: bytes) -> Entry | None:
    """A line of `journalctl --output=json`; None if it is no entry."""
    try:
        fields = msgspec.json.decode(line)
        cursor, at_ms = str(fields["__CURSOR"]), int(fields["__REALTIME_TIMESTAMP"]) // 1000
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return None
    unit = _text(fields.get("_SYSTEMD_UNIT"))
    message = _text(fields.get("MESSAGE")).rstrip()
    source = unit.removesuffix(".service") or _text(fields.get("SYSLOG_IDENTIFIER")) or "kernel"
    is_sent = bool(message) and unit != OWN_UNIT
    return Entry(cursor, at_ms, _cut(f"{source}: {message}") if is_sent else "")


def batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The entries that are sent, in the order of time, in as few batches as the limits allow."""
    batch: list[Entry] = []
    size = 0
    for entry in sorted((e for e in entries if e.text), key=lambda e: e.at_ms):
        is_full = len(batch) == MAX_EVENTS or size + entry.size > MAX_BYTES
        if batch and (is_full or entry.at_ms - batch[0].at_ms >= MAX_SPAN_MS):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def _text(value: Any) -> str:
    """A field: journalctl gives bytes that are no text as a list of numbers, long ones as null."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return bytes(n for n in value if isinstance(n, int) and 0 <= n < 256).decode(errors="replace")


def _cut(text: str) -> str:
    coded = text.encode()
    most = MAX_EVENT_BYTES - OVERHEAD_BYTES
    if len(coded) <= most:
        return text
    return coded[: most - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT
