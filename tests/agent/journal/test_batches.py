"""Entries of the journal, and the batches that clouds take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_agent.journal.batches import (
    CLOUDWATCH,
    GOOGLE,
    MAX_TEXT_BYTES,
    OWN_UNIT,
    Entry,
    Limits,
    batches,
    entry_of,
)


def line(**fields: Any) -> bytes:
    whole = {"__CURSOR": "c1", "__REALTIME_TIMESTAMP": "1700000000123456", **fields}
    return json.dumps(whole).encode()


def entry(text: str = "x", at_ms: int = 0) -> Entry:
    return Entry("c", at_ms * 1000, text)


both = pytest.mark.parametrize("limits", [CLOUDWATCH, GOOGLE])


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
    assert entry_of(line(**fields)) == Entry("c1", 1700000000123456, text)


@pytest.mark.parametrize("given_line", [b"", b"-- Boot 1 --", b"[]", b"7", b'{"MESSAGE": "x"}'])
def test_lines_that_are_no_entries_are_left_out(given_line: bytes) -> None:
    assert entry_of(given_line) is None


@pytest.mark.parametrize(
    ("given_priority", "priority"),
    [("3", 3), ("0", 0), ("7", 7), ("9", 6), ("", 6), (None, 6), (["4"], 6), ("\u0663", 6)],
)
def test_an_entry_has_a_priority_of_syslog(given_priority: Any, priority: int) -> None:
    found = entry_of(line(MESSAGE="x", PRIORITY=given_priority))
    assert found is not None
    assert found.priority == priority


def test_a_long_message_is_cut_between_characters() -> None:
    found = entry_of(line(MESSAGE="ä" * MAX_TEXT_BYTES))
    assert found is not None
    assert MAX_TEXT_BYTES - 4 < len(found.text.encode()) <= MAX_TEXT_BYTES
    assert found.text.endswith("ä … (cut)")


@both
def test_a_batch_is_in_the_order_of_time_and_has_no_empty_events(limits: Limits) -> None:
    [batch] = batches([entry("b", 2), entry("", 1), entry("a", 1)], limits)
    assert [one.text for one in batch] == ["a", "b"]
    assert list(batches([entry("")], limits)) == []


@both
def test_a_batch_spans_less_than_a_day(limits: Limits) -> None:
    span_ms = limits.span_ms
    entries = [entry("a", 0), entry("b", span_ms - 1), entry("c", span_ms)]
    found = [[one.text for one in batch] for batch in batches(entries, limits)]
    assert found == [["a", "b"], ["c"]]


@both
def test_a_batch_has_a_bounded_number_of_events(limits: Limits) -> None:
    found = batches([entry()] * (limits.events + 1), limits)
    assert [len(batch) for batch in found] == [limits.events, 1]


@both
@given(sizes=st.lists(st.integers(1, MAX_TEXT_BYTES), max_size=12))
def test_each_batch_is_within_the_bytes_and_nothing_is_lost(
    limits: Limits, sizes: list[int]
) -> None:
    found = list(batches([entry("x" * size) for size in sizes], limits))
    assert [len(one.text) for batch in found for one in batch] == sizes
    for batch in found:
        whole = sum(len(one.text) + limits.overhead_bytes for one in batch)
        assert whole <= limits.bytes
