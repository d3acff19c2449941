"""Lines of a pod's log."""

from __future__ import annotations

import random

import pytest

from determined_master.backends.kubernetes.log.log_lines import (
    CUT_MARK,
    MAX_LINE_BYTES,
    PART_BYTES,
    LineSplitter,
    PodLogLine,
    is_no_log,
    lines_of,
    spans_of,
    text_of,
)

STAMP = b"2026-01-01T00:00:00.%09dZ "
T0 = 1_767_225_600_000_000


def raw(n: int, text: bytes) -> bytes:
    """A line as the API server sends it, n microseconds after midnight."""
    return STAMP % (n * 1000) + text + b"\n"


def test_times_and_texts_are_distinguished() -> None:
    assert list(lines_of(raw(7, b"hello")[:-1])) == [PodLogLine(T0 + 7, b"hello")]


@pytest.mark.parametrize("zone", [b"Z", b"+00:00"])
def test_a_time_may_have_any_number_of_digits(zone: bytes) -> None:
    [line] = lines_of(b"2026-01-01T00:00:00" + zone + b" x")
    assert line == PodLogLine(T0, b"x")


def test_a_carriage_return_ends_a_line_and_one_before_a_line_feed_does_not() -> None:
    assert [x.text for x in lines_of(raw(1, b"10%\r20%\r")[:-1])] == [b"10%", b"20%"]


def test_long_lines_are_cut_with_a_mark() -> None:
    found = list(lines_of(raw(1, b"x" * (2 * MAX_LINE_BYTES + 5))[:-1]))
    assert [len(x.text) for x in found] == [MAX_LINE_BYTES + len(CUT_MARK)] * 2 + [5]


def test_the_times_that_older_kubelets_write_into_long_lines_are_taken_out() -> None:
    parts = [b"a" * PART_BYTES, b"b" * PART_BYTES, b"end"]
    line = (STAMP % 1).join([b"", *parts])
    assert [x.text for x in lines_of(line)] == [b"".join(parts)]


def test_lines_do_not_depend_on_where_pieces_end() -> None:
    data = b"".join(raw(n, b"line %d" % n) for n in range(50)) + STAMP % 0 + b"last"
    rng = random.Random(3)
    for _ in range(20):
        cuts = sorted(rng.randrange(len(data)) for _ in range(9))
        splitter, found = LineSplitter(), []
        for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True):
            found += splitter.feed(data[a:b])
        found += splitter.finish()
        assert [x.text for x in found] == [b"line %d" % n for n in range(50)] + [b"last"]


def test_a_batch_has_the_lines_and_their_times() -> None:
    found = [PodLogLine(5, b"a"), PodLogLine(5, b"\xff"), PodLogLine(6, b"c")]
    assert text_of(found) == "a\n\N{REPLACEMENT CHARACTER}\nc"
    assert [(s.count, s.at_us) for s in spans_of(found)] == [(2, 5), (1, 6)]
    assert spans_of([]) == ()


@pytest.mark.parametrize(
    ("text", "is_none"),
    [
        (b"unable to retrieve container logs for docker://6bb2", True),
        (b'failed to try resolving symlinks in path "/var/log/pods/x/0.log": lstat', True),
        (b"rpc error: code = Unknown desc = Error: No such container: 60b6", True),
        (raw(1, b"unable to retrieve container logs for docker://6bb2")[:-1], False),
        (b"", False),
    ],
)
def test_a_kubelets_word_that_it_has_no_log_is_no_output(text: bytes, is_none: bool) -> None:
    splitter = LineSplitter()
    assert not list(splitter.feed(text))
    assert any(map(is_no_log, splitter.finish())) == is_none
