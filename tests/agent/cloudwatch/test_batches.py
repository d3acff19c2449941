"""Entries of the journal, and the batches that CloudWatch takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_agent.cloudwatch.batches import (
    MAX_BYTES,
    MAX_EVENT_BYTES,
    MAX_EVENTS,
    MAX_SPAN_MS,
    OVERHEAD_BYTES,
    OWN_UNIT,
    Entry,
    batches,
    entry_of,
)


def line(**fields: Any) -> bytes:
    whole = {"__CURSOR": "c1", "__REALTIME_TIMESTAMP": "1700000000123456", **fields}
    return json.dumps(whole).encode()


def entry(text: str = "x", at_ms: int = 0) -> Entry:
    return Entry("c", at_ms, text)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"_SYSTEMD_UNIT": "determined-agent.service", "MESSAGE": "joined\n"},
         "determined-agent: joined"),
        ({"SYSLOG_IDENTIFIER": "sshd", "MESSAGE": "hello"}, "sshd: hello"),
        ({"MESSAGE": "oom"}, "kernel: oom"),
        ({"MESSAGE": [104, 105, 255, 999]}, "kernel: hi�"),
        ({"MESSAGE": None}, ""),
        ({"MESSAGE": ""}, ""),
        ({"_SYSTEMD_UNIT": OWN_UNIT, "MESSAGE": "the journal is not sent"}, ""),
    ],
)  # fmt: skip
def test_an_entry_has_its_unit_and_message(fields: dict[str, Any], text: str) -> None:
    assert entry_of(line(**fields)) == Entry("c1", 1700000000123, text)


@pytest.mark.parametrize("given_line", [b"", b"-- Boot 1 --", b"[]", b"7", b'{"MESSAGE": "x"}'])
def test_lines_that_are_no_entries_are_left_out(given_line: bytes) -> None:
    assert entry_of(given_line) is None


def test_a_long_message_is_cut_between_characters() -> None:
    found = entry_of(line(MESSAGE="ä" * MAX_EVENT_BYTES))
    assert found is not None
    assert MAX_EVENT_BYTES - 4 < found.size <= MAX_EVENT_BYTES
    assert found.text.endswith("ä … (cut)")


def test_a_batch_is_in_the_order_of_time_and_has_no_empty_events() -> None:
    [batch] = batches([entry("b", 2), entry("", 1), entry("a", 1)])
    assert [one.text for one in batch] == ["a", "b"]
    assert list(batches([entry("")])) == []


def test_a_batch_spans_less_than_a_day() -> None:
    found = list(batches([entry("a", 0), entry("b", MAX_SPAN_MS - 1), entry("c", MAX_SPAN_MS)]))
    assert [[one.text for one in batch] for batch in found] == [["a", "b"], ["c"]]


def test_a_batch_has_a_bounded_number_of_events() -> None:
    assert [len(b) for b in batches([entry()] * (MAX_EVENTS + 1))] == [MAX_EVENTS, 1]


@given(st.lists(st.integers(1, MAX_EVENT_BYTES - OVERHEAD_BYTES), max_size=12))
def test_each_batch_is_within_the_bytes_and_nothing_is_lost(sizes: list[int]) -> None:
    found = list(batches([entry("x" * size) for size in sizes]))
    assert [len(one.text) for batch in found for one in batch] == sizes
    assert all(sum(one.size for one in batch) <= MAX_BYTES for batch in found)
