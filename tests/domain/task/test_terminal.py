"""Bounds of terminals in browsers."""

from __future__ import annotations

import pytest

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.task.terminal import (
    MAX_COLUMNS,
    MAX_OUTPUT_BYTES_A_S,
    MAX_ROWS,
    MAX_SIZE_TEXT,
    OutputPace,
    TerminalSize,
    read_size,
)


def text_of(columns: int, rows: int) -> str:
    return f'{{"columns":{columns},"rows":{rows}}}'


@pytest.mark.parametrize("size", [(1, 1), (80, 24), (MAX_COLUMNS, MAX_ROWS)])
def test_a_size_within_bounds_is_read(size: tuple[int, int]) -> None:
    assert read_size(text_of(*size)) == TerminalSize(*size)


@pytest.mark.parametrize(
    ("size", "named"),
    [
        ((0, 24), "0 x 24"),
        ((80, -1), "80 x -1"),
        ((MAX_COLUMNS + 1, 24), f"from 1 to {MAX_COLUMNS}"),
        ((80, MAX_ROWS + 1), f"from 1 to {MAX_ROWS}"),
    ],
)
def test_a_size_out_of_bounds_is_named(size: tuple[int, int], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        read_size(text_of(*size))


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"columns":80}', '{"columns":"80","rows":24}', "[" * 200, "\ud800"]
)
def test_a_malformed_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="malformed"):
        read_size(text)


def test_a_long_size_is_not_parsed() -> None:
    padded = " " * MAX_SIZE_TEXT + text_of(80, 24)
    with pytest.raises(InvalidArgument, match=f"at most {MAX_SIZE_TEXT}"):
        read_size(padded)


def test_the_echo_of_keys_never_waits() -> None:
    pace = OutputPace()
    assert [pace.pause_s(8, now_s=n / 50) for n in range(100)] == [0.0] * 100


def test_output_without_end_is_held_to_its_rate() -> None:
    pace, now_s, size = OutputPace(), 100.0, 32 * 1024
    sent = 0
    while now_s < 110.0:
        now_s += pace.pause_s(size, now_s)
        sent += size
    assert sent == pytest.approx(10 * MAX_OUTPUT_BYTES_A_S, rel=0.01)


def test_after_a_rest_output_is_sent_at_once() -> None:
    pace = OutputPace()
    assert pace.pause_s(MAX_OUTPUT_BYTES_A_S, 0.0) == 1.0
    assert pace.pause_s(100, 60.0) == 0.0
