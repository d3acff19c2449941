"""Decoding Docker's log, and continuing after an interrupted copy."""

from __future__ import annotations

from pathlib import Path

from determined_agent.runtimes.docker.output import (
    FrameDecoder,
    ResumePoint,
    TimestampParser,
    last_entries,
)
from determined_agent.shim.spool import NOTE, SpoolWriter


def frame(stream: int, payload: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


def test_frames_do_not_depend_on_piece_boundaries() -> None:
    wire = frame(1, b"one\n") + frame(2, b"two\n") + frame(1, b"")
    frames = FrameDecoder()
    found = [f for at in range(len(wire)) for f in frames.feed(wire[at : at + 1])]
    assert found == [(1, b"one\n"), (2, b"two\n"), (1, b"")]


def test_times_are_microseconds_in_any_time_zone() -> None:
    times = TimestampParser()
    assert times.split(b"1970-01-01T00:00:01.123456789Z a b\n") == (1_123_456, b"a b\n")
    assert times.split(b"1970-01-01T01:00:01.5+01:00 x") == (1_500_000, b"x")
    assert times.split(b"1970-01-01T00:00:02Z x") == (2_000_000, b"x")


def test_a_payload_without_a_time_is_kept_unchanged() -> None:
    assert TimestampParser().split(b"no time here\n") == (0, b"no time here\n")


def test_a_copy_continues_after_all_records_of_the_last_time(tmp_path: Path) -> None:
    spool = SpoolWriter(str(tmp_path), 10**6)
    spool.write_many([(0, 10, b"a\n"), (0, 20, b"b\n"), (1, 20, b"c\n"), (0, 20, b"d\n")])
    spool.write(NOTE, 99, b"of the agent itself")
    spool.close()
    assert last_entries(tmp_path) == ResumePoint(since_us=20, skip=3)


def test_an_entry_older_than_its_predecessor_is_not_copied_twice(tmp_path: Path) -> None:
    """A long line has the time of its first piece, and other lines come in between."""
    spool = SpoolWriter(str(tmp_path), 10**6)
    spool.write_many([(1, 10, b"long"), (0, 20, b"b\n"), (1, 10, b" line\n")])
    spool.close()
    assert last_entries(tmp_path) == ResumePoint(since_us=10, skip=3)


def test_an_empty_spool_starts_at_the_beginning(tmp_path: Path) -> None:
    assert last_entries(tmp_path) == ResumePoint()
