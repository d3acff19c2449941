"""Splitting and numbering a task's output."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from determined_agent.logs import spool_reader
from determined_agent.logs.spool_reader import (
    CUT_MARK,
    MAX_LINE_BYTES,
    Chunk,
    LineReader,
    Position,
)
from determined_agent.shim.spool import NOTE, STDERR, STDOUT, SpoolWriter, segments


def split(*records: bytes | tuple[int, bytes]) -> list[str]:
    """Return the lines of records; plain bytes are stdout."""
    reader = LineReader(Position())
    for record in records:
        stream, data = record if isinstance(record, tuple) else (STDOUT, record)
        reader.feed(stream, 1, data)
    reader.finish(2)
    return texts(reader.chunk())


def texts(chunk: Chunk) -> list[str]:
    lines = chunk.text.split("\n") if chunk.spans else []
    assert sum(s.count for s in chunk.spans) == len(lines) == chunk.lines
    return lines


def read_all(directory: Path, position: Position) -> tuple[list[tuple[int, str]], Position]:
    """Return the numbered lines from a position to the end."""
    found: list[tuple[int, str]] = []
    while True:
        chunk, after = spool_reader.read_chunk(directory, position)
        found += [(chunk.first_seq + i, text) for i, text in enumerate(texts(chunk))]
        if after == position:
            return found, position
        position = after


@pytest.mark.parametrize(
    ("records", "lines"),
    [
        ([b"a\nb\n"], ["a", "b"]),
        ([b"a\n\nb"], ["a", "", "b"]),
        ([b"10%\r20%\r"], ["10%", "20%"]),
        ([b"a\r\nb\r\n"], ["a", "b"]),
        ([b"a\r", b"\nb\n"], ["a", "b"]),
        ([b"a\r", b"\n", b"\nb\n"], ["a", "", "b"]),
        ([b"be", b"gun", b" here\n"], ["begun here"]),
        ([b"\xe2\x82", b"\xac\n"], ["€"]),
        ([b"bad \xff\xfe byte\n"], ["bad \ufffd\ufffd byte"]),
        ([b"cut \xe2\x82\nnext\n"], ["cut \ufffd", "next"]),
        ([b"o", (STDERR, b"e\n"), b"ut\n"], ["e", "out"]),
        ([b"begun", (NOTE, b"a note"), b"later\n"], ["begun", "a note", "later"]),
        ([b"nul \0 stays\n"], ["nul \0 stays"]),
        ([], []),
    ],
)
def test_output_is_split_at_every_line_break(
    records: list[bytes | tuple[int, bytes]], lines: list[str]
) -> None:
    assert split(*records) == lines


def test_spans_name_stream_and_source() -> None:
    reader = LineReader(Position())
    for stream, data in ((NOTE, b"n"), (STDOUT, b"o\n"), (STDERR, b"e\ne\n")):
        reader.feed(stream, 7, data)
    spans = [(s.count, s.at_us, s.stdtype, s.source) for s in reader.chunk().spans]
    assert spans == [
        (1, 7, "stdout", "agent"),
        (1, 7, "stdout", "task"),
        (2, 7, "stderr", "task"),
    ]


@pytest.mark.parametrize("pieces", [1, 3, 7])
def test_a_long_line_is_cut_with_a_mark_and_continues(pieces: int) -> None:
    line = b"x" * (2 * MAX_LINE_BYTES + 5)
    size = len(line) // pieces + 1
    records = [line[i : i + size] for i in range(0, len(line), size)] + [b"\nshort\n"]
    mark = CUT_MARK.decode()
    whole = "x" * MAX_LINE_BYTES
    assert split(*records) == [whole + mark, whole + mark, "xxxxx", "short"]


def test_no_character_is_split() -> None:
    lines = split("€".encode() * MAX_LINE_BYTES + b"\n")
    assert not any("\ufffd" in line for line in lines)
    assert "".join(line.removesuffix(CUT_MARK.decode()) for line in lines) == "€" * MAX_LINE_BYTES


@settings(max_examples=60, deadline=None)
@given(
    data=st.binary(max_size=300).map(lambda b: b.translate(bytes(b"ab\r\n\xe2\x82\xac\n" * 32))),
    cuts=st.lists(st.integers(0, 300), max_size=8),
)
def test_the_lines_do_not_depend_on_record_boundaries(data: bytes, cuts: list[int]) -> None:
    marks = [0, *sorted(c for c in cuts if c <= len(data)), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(marks)]
    assert split(*pieces) == split(data)


def test_reading_again_from_any_position_gives_the_same_numbers(tmp_path: Path) -> None:
    writer = SpoolWriter(str(tmp_path), 4096)
    for i in range(60):
        writer.write(STDOUT if i % 3 else STDERR, i, f"line {i}\r\nbegun {i} ".encode() * 3)
    writer.close()
    assert len(segments(str(tmp_path))) > 1
    everything, _ = read_all(tmp_path, Position())
    assert [n for n, _ in everything] == list(range(1, len(everything) + 1))
    position = Position()
    while True:
        rest, _ = read_all(tmp_path, position)
        assert rest == everything[position.next_seq - 1 :]
        _, after = spool_reader.read_chunk(tmp_path, position)
        if after == position:
            break
        position = after


def test_an_incomplete_record_is_read_once_it_is_complete(tmp_path: Path) -> None:
    writer = SpoolWriter(str(tmp_path), 4096)
    writer.write(STDOUT, 1, b"whole\n")
    writer.write(STDOUT, 2, b"torn\n")
    writer.close()
    file = tmp_path / "00000001"
    data = file.read_bytes()
    file.write_bytes(data[:-2])
    lines, position = read_all(tmp_path, Position())
    assert lines == [(1, "whole")]
    file.write_bytes(data)
    assert read_all(tmp_path, position)[0] == [(2, "torn")]


def test_stored_segments_are_deleted_and_the_rest_keeps_its_numbers(tmp_path: Path) -> None:
    spool, cursor = tmp_path / "output", tmp_path / "cursor"
    spool.mkdir()
    writer = SpoolWriter(str(spool), 4096)
    for i in range(100):
        writer.write(STDOUT, i, f"line {i:40}\n".encode())
    writer.close()
    everything, end = read_all(spool, Position())
    spool_reader.save_position(cursor, spool, end)
    assert segments(str(spool)) == [end.segment]
    again = spool_reader.load_position(cursor)
    assert again == end
    writer = SpoolWriter(str(spool), 4096)
    writer.write(STDOUT, 1, b"next\n")
    writer.close()
    assert read_all(spool, again)[0] == [(len(everything) + 1, "next")]


def test_the_end_returns_the_partial_lines_and_the_count_of_dropped_ones() -> None:
    position = Position(next_seq=5, partial=(b"out", b"err"))
    chunk, after = spool_reader.read_end(position, 9, 3)
    assert texts(chunk)[:2] == ["out", "err"]
    assert texts(chunk)[2].startswith("3 lines of output were dropped")
    assert (chunk.first_seq, after.next_seq) == (5, 8)
