"""Sending a task's output over a link that is lost at times."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agent_link import until

from determined_agent.container.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.logs.shipper import WINDOW, Disconnected, LogShipper
from determined_agent.logs.spool_reader import CHUNK_LINES
from determined_agent.shim.spool import STDOUT, SpoolWriter, segments
from determined_wire.agent_link import LogBatch

RECORD = ContainerRecord(container_id="c", allocation_id="a", task_id="t", slot_ids=())


class FakeLink:
    """Keeps what was sent; `cut` ends the connection."""

    def __init__(self) -> None:
        self.count = 1
        self.up = asyncio.Event()
        self.up.set()
        self.sent: list[LogBatch] = []

    @property
    def connection(self) -> int:
        return self.count if self.up.is_set() else 0

    async def connected(self) -> int:
        await self.up.wait()
        return self.count

    async def send_logs(self, connection: int, batch: LogBatch) -> None:
        if connection != self.connection:
            raise Disconnected
        self.sent.append(batch)

    def cut(self) -> None:
        self.up.clear()

    def join(self) -> None:
        self.count += 1
        self.up.set()


@pytest.fixture
def directory(tmp_path: Path) -> ContainerDirectory:
    value = ContainerDirectory(tmp_path / "c")
    value.create(RECORD)
    return value


@pytest.fixture
def writer(directory: ContainerDirectory) -> SpoolWriter:
    return SpoolWriter(str(directory.output), 2**20)


@pytest.fixture
async def link() -> FakeLink:
    return FakeLink()


@pytest.fixture
async def shipper(directory: ContainerDirectory, link: FakeLink) -> AsyncIterator[LogShipper]:
    value = LogShipper(RECORD, directory, link)
    running = asyncio.create_task(value.run())
    yield value
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def write(writer: SpoolWriter, *lines: str) -> None:
    writer.write(STDOUT, 1, "".join(f"{line}\n" for line in lines).encode())


async def test_the_window_bounds_unacknowledged_batches(
    writer: SpoolWriter, link: FakeLink, shipper: LogShipper
) -> None:
    for i in range(WINDOW + 2):
        write(writer, *[str(i)] * CHUNK_LINES)
    await until(lambda: len(link.sent) == WINDOW)
    shipper.stored(CHUNK_LINES, is_last=False)
    await until(lambda: len(link.sent) == WINDOW + 1)
    assert [b.first_seq for b in link.sent] == [1 + i * CHUNK_LINES for i in range(WINDOW + 1)]


async def test_unstored_lines_are_sent_again_over_the_next_connection(
    writer: SpoolWriter, link: FakeLink, shipper: LogShipper
) -> None:
    write(writer, "one")
    await until(lambda: len(link.sent) == 1)
    shipper.stored(1, is_last=False)
    write(writer, "two")
    await until(lambda: len(link.sent) == 2)
    link.cut()
    shipper.disconnected()
    write(writer, "three")
    link.join()
    await until(lambda: len(link.sent) >= 3)
    assert (link.sent[2].first_seq, link.sent[2].text.split("\n")[0]) == (2, "two")


async def test_it_ends_once_the_last_batch_is_stored(
    writer: SpoolWriter, link: FakeLink, directory: ContainerDirectory
) -> None:
    shipper = LogShipper(RECORD, directory, link)
    running = asyncio.create_task(shipper.run())
    write(writer, "one")
    await until(lambda: len(link.sent) == 1)
    shipper.finish(Exit(exit_code=0))
    await until(lambda: len(link.sent) == 2)
    assert [(b.is_last, b.spans == ()) for b in link.sent] == [(False, False), (True, True)]
    shipper.stored(1, is_last=False)  # the line is stored, but not that it was the last one
    await asyncio.sleep(0)
    assert not running.done()
    shipper.stored(1, is_last=True)
    await asyncio.wait_for(running, 60)


async def test_a_task_without_output_has_a_last_batch_too(
    link: FakeLink, shipper: LogShipper, writer: SpoolWriter
) -> None:
    shipper.finish(Exit(exit_code=0))
    await until(lambda: link.sent)
    assert (link.sent[0].is_last, link.sent[0].first_seq, link.sent[0].spans) == (True, 1, ())


async def test_stored_segments_are_deleted_and_a_new_agent_continues_after_them(
    link: FakeLink, shipper: LogShipper, directory: ContainerDirectory
) -> None:
    writer = SpoolWriter(str(directory.output), 4000)
    for i in range(25):
        write(writer, f"{i:90}")
    await until(lambda: link.sent and sum(b.text.count("\n") + 1 for b in link.sent) == 25)
    shipper.stored(25, is_last=False)
    assert len(segments(str(directory.output))) == 1
    after = FakeLink()
    successor = LogShipper(RECORD, directory, after)
    running = asyncio.create_task(successor.run())
    write(writer, "next")
    await until(lambda: after.sent)
    assert (after.sent[-1].first_seq, after.sent[-1].text) == (26, "next")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
