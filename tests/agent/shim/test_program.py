"""The shim's handling of a task's last output; the runtime contract covers the rest."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.logs.test_spool_reader import read_all

from determined_agent.logs.spool_reader import Position
from determined_agent.shim import program
from determined_agent.shim.spool import STDOUT, SpoolWriter

LINE = b"x" * 99 + b"\n"


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """A full pipe with an open writing end, and a shim without time left."""
    monkeypatch.setattr(program, "_DRAIN_S", 0.0)
    reader, writer = os.pipe2(os.O_NONBLOCK)
    yield reader, writer
    os.close(reader)
    os.close(writer)


def fill(writer: int) -> int:
    """Write lines until the pipe is full; return their number."""
    count = 0
    try:
        while os.write(writer, LINE):
            count += 1
    except BlockingIOError:
        return count


def drain(task: program._Task, reader: int) -> None:
    wake, waker = os.pipe()
    task._wake, task._streams = wake, {reader: STDOUT}
    poll = select.poll()
    for fd in (wake, reader):
        poll.register(fd, select.POLLIN)
    task._drain(poll)
    os.close(wake)
    os.close(waker)


def test_the_content_of_the_pipes_is_kept_however_slow_the_disk_is(
    tmp_path: Path, pipe: tuple[int, int]
) -> None:
    reader, writer = pipe
    count = fill(writer)
    drain(program._Task(SpoolWriter(str(tmp_path), 2**20), 0), reader)
    lines = [text for _, text in read_all(tmp_path, Position())[0]]
    assert lines == [LINE.decode().strip()] * count


def test_a_process_that_continues_writing_does_not_delay_the_end_without_limit(
    tmp_path: Path, pipe: tuple[int, int]
) -> None:
    reader, writer = pipe

    class Refilled(program._Task):
        def _copy(self, fd: int, poll: select.poll) -> int:
            size = super()._copy(fd, poll)
            fill(writer)
            return size

    count = fill(writer)
    drain(Refilled(SpoolWriter(str(tmp_path), 2**20), 0), reader)
    assert len(read_all(tmp_path, Position())[0]) >= count
