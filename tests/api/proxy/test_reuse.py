"""Connections to services serve one request after another."""

from __future__ import annotations

import asyncio

import pytest
from tests.api.proxy.proxied import DEADLINE_S, Backend, Master, Task

from determined_master.api.upstream import idle_connections as kept

pytestmark = [pytest.mark.asyncio(loop_scope="module")]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Counted:
    """A service that answers request after request, and counts its connections."""

    def __init__(self, backend: Backend, answer: bytes = OK, *, of_each: int = 1000) -> None:
        self.connections = 0
        self.answered = asyncio.Event()
        self._answer = answer
        self._of_each = of_each
        self._backend = backend
        backend.serve = self.serve

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        for _ in range(self._of_each):
            head = await self._backend.head(reader)
            if b"content-length: 3" in head.lower():
                await reader.readexactly(3)
            writer.write(self._answer)
            await writer.drain()


async def asked(master: Master, task: Task, count: int = 3, **more: object) -> None:
    for _ in range(count):
        answer = await master.ask(f"/proxy/{task.id}:8080/", **more)
        assert (answer.status, answer.body) == (200, b"hi")


async def test_requests_one_after_another_share_a_connection(
    master: Master, backend: Backend
) -> None:
    service = Counted(backend)
    task = master.task(backend)
    await asked(master, task)
    assert service.connections == 1
    assert len(backend.heads) == 3
    await asked(master, task, 1, method="POST", body=b"abc")
    assert service.connections == 2  # what must not be sent twice goes over a new one
    await asked(master, task)
    assert service.connections == 2
    task.end()


async def test_a_chunked_answer_leaves_its_connection_open(
    master: Master, backend: Backend
) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    service = Counted(backend, chunked)
    await asked(master, master.task(backend))
    assert service.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"),
        OK.replace(b"HTTP/1.1", b"HTTP/1.0"),
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate",
        OK + b"garbage",
    ],
    ids=["close", "1.0", "a second answer", "garbage"],
)
async def test_a_closed_or_unclean_connection_is_not_reused(
    master: Master, backend: Backend, answer: bytes
) -> None:
    service = Counted(backend, answer)
    await asked(master, master.task(backend))
    assert service.connections == 3


async def test_a_service_that_closes_what_waits_is_asked_again(
    master: Master, backend: Backend
) -> None:
    service = Counted(backend, of_each=1)
    await asked(master, master.task(backend), 5)
    assert service.connections == 5


async def test_services_of_two_tasks_share_nothing(master: Master, backend: Backend) -> None:
    service = Counted(backend)
    for _ in range(2):
        await asked(master, master.task(backend))
    assert service.connections == 2


async def test_the_end_of_a_task_closes_what_waits(master: Master, backend: Backend) -> None:
    Counted(backend)
    task = master.task(backend)
    await asked(master, task)
    assert not backend.closed.is_set()
    task.end()
    await asyncio.wait_for(backend.closed.wait(), DEADLINE_S)


async def test_a_connection_idle_for_too_long_is_closed(
    master: Master, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "IDLE_S", 0.02)
    Counted(backend)
    await asked(master, master.task(backend), 1)
    await asyncio.wait_for(backend.closed.wait(), DEADLINE_S)


async def test_only_so_many_wait(
    master: Master, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MAX_OF_SERVICE", 2)
    service = Counted(backend)
    task = master.task(backend)
    all_here = asyncio.Barrier(4)
    answer_at_once = service.serve

    async def together(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await all_here.wait()
        await answer_at_once(reader, writer)

    backend.serve = together
    await asyncio.gather(*(asked(master, task, 1) for _ in range(4)))
    assert service.connections == 4
    backend.serve = answer_at_once
    await asked(master, task, 2)
    assert service.connections == 4
    await asyncio.wait_for(backend.closed.wait(), DEADLINE_S)  # of the two too many
