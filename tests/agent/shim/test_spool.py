"""The limit of a task's output on disk."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.logs.test_spool_reader import read_all

from determined_agent.logs import spool_reader
from determined_agent.logs.spool_reader import Position
from determined_agent.shim.spool import STDOUT, SpoolWriter, segment_name, segments


def test_a_full_spool_drops_the_newest_lines_and_counts_them(tmp_path: Path) -> None:
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
    spool_reader.save_position(tmp_path / "cursor", tmp_path, position)
    assert writer.write(STDOUT, 10**6, b"room again\n")
    writer.close()
    [note, last] = read_all(tmp_path, position)[0]
    assert note[1].startswith("19 lines of output were dropped")  # 18, and the first
    assert last == (kept + 2, "room again")


def test_a_full_disk_loses_only_the_output_that_does_not_fit(
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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    where = tmp_path / "disk"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(where)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=True)


def fill(disk: Path) -> None:
    """Use up all free space."""
    with contextlib.suppress(OSError), open(disk / "others", "ab", buffering=0) as file:
        while file.write(bytes(4096)):
            continue


def test_output_that_fills_the_disk_is_deleted_once_it_is_stored(small_disk: Path) -> None:
    """Repeatedly: freeing space itself needs some."""
    cursor, spool = small_disk / "cursor", small_disk / "output"
    spool.mkdir()
    spool_reader.reserve_cursor(cursor)
    writer = SpoolWriter(str(spool), 2 * 2**20)
    position = Position()
    for number in range(3):
        at_us = number * 10**6
        while writer.write(STDOUT, at_us, b"x" * 4095 + b"\n"):
            continue
        assert len(segments(str(spool))) > 1
        fill(small_disk)
        _, position = read_all(spool, position)
        spool_reader.save_position(cursor, spool, position)
        assert segments(str(spool)) == [position.segment]
        assert spool_reader.load_position(cursor) == position
        assert writer.write(STDOUT, at_us + 10**5, b"room again\n")
    writer.close()


def test_segments_are_numbered_consecutively(tmp_path: Path) -> None:
    writer = SpoolWriter(str(tmp_path), 4000)
    for i in range(30):
        writer.write(STDOUT, i, b"x" * 99 + b"\n")
    writer.close()
    numbers = segments(str(tmp_path))
    assert numbers == list(range(1, len(numbers) + 1))
    assert (tmp_path / segment_name(numbers[-1])).exists()
