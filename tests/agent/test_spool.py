"""The bound of a task's output on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.agent.test_output import read_all

from determined_agent import output
from determined_agent.output import Position
from determined_agent.spool import STDOUT, SpoolWriter, segment_name, segments


def test_a_full_spool_drops_the_newest_lines_and_says_how_many(tmp_path: Path) -> None:
    writer = SpoolWriter(str(tmp_path), 4000)
    kept = 0
    while writer.write(STDOUT, kept, f"{kept:99}\n".encode()):
        kept += 1
    for i in range(9):
        assert not writer.write(STDOUT, 100 + i, b"dropped\ndropped\n")
    size = sum(f.stat().st_size for f in tmp_path.iterdir())
    assert 3000 < size < 5000
    lines, position = read_all(tmp_path, Position())
    assert len(lines) == kept
    output.save_position(tmp_path / "cursor", tmp_path, position)
    assert writer.write(STDOUT, 10**6, b"room again\n")
    writer.close()
    [note, last] = read_all(tmp_path, position)[0]
    assert note[1].startswith("19 lines of output were dropped")  # 18 and the one that found out
    assert last == (kept + 2, "room again")


def test_a_disk_that_is_full_costs_only_what_did_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SpoolWriter(str(tmp_path), 2**20)
    assert writer.write(STDOUT, 1, b"before\n")
    real = os.writev

    def half(fd: int, parts: list[bytes]) -> int:
        return real(fd, [b"".join(parts)[:9]])

    monkeypatch.setattr(os, "writev", half)
    assert not writer.write(STDOUT, 2, b"lost\n")
    monkeypatch.setattr(os, "writev", real)
    assert writer.write(STDOUT, 3, b"after\n")
    writer.close()
    lines = [text for _, text in read_all(tmp_path, Position())[0]]
    assert (lines[0], lines[2]) == ("before", "after")
    assert lines[1].startswith("1 lines of output were dropped")


def test_segments_follow_each_other_by_number(tmp_path: Path) -> None:
    writer = SpoolWriter(str(tmp_path), 4000)
    for i in range(30):
        writer.write(STDOUT, i, b"x" * 99 + b"\n")
    writer.close()
    numbers = segments(str(tmp_path))
    assert numbers == list(range(1, len(numbers) + 1))
    assert (tmp_path / segment_name(numbers[-1])).exists()
