"""What a container says is told before its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.agent_link import until

from determined_agent import supervisor as subject
from determined_agent.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.environment import Start
from determined_agent.logs import Disconnected
from determined_agent.spool import STDOUT, SpoolWriter
from determined_agent.supervisor import Supervisor
from determined_wire.agent_link import (
    Address,
    ContainerReport,
    ContainerSpec,
    ContainerState,
    Failure,
    LogBatch,
    LogStored,
    SignalContainer,
    StartContainer,
)

LINES = 2500


class Recorded:
    """A link that keeps, in order, what is told; the test acknowledges."""

    connection = 1

    def __init__(self) -> None:
        self.told: list[LogBatch | ContainerReport] = []
        self.is_acknowledging = True
        self.supervisor: Supervisor | None = None

    async def connected(self) -> int:
        return self.connection

    async def send_logs(self, connection: int, batch: LogBatch) -> None:
        if connection != self.connection:
            raise Disconnected
        self.told.append(batch)
        if self.is_acknowledging:
            asyncio.get_running_loop().call_soon(self._acknowledge, batch)

    def report(self, report: ContainerReport) -> None:
        self.told.append(report)

    def states(self) -> list[str]:
        return [t.state for t in self.told if isinstance(t, ContainerReport)]

    def _acknowledge(self, batch: LogBatch) -> None:
        assert self.supervisor is not None
        seq = batch.first_seq - 1 + sum(span.count for span in batch.spans)
        self.supervisor.log_stored(LogStored(batch.container_id, seq, batch.is_last))


class Talkative:
    """A runtime whose only task writes its lines and ends at once."""

    name = "talkative"

    def __init__(self) -> None:
        self.is_detached = False

    async def check(self) -> None: ...

    async def launch(
        self,
        directory: ContainerDirectory,
        start: Start,
        progress: Callable[[ContainerState], None],
    ) -> Talkative:
        writer = SpoolWriter(str(directory.output), 2**22)
        for n in range(LINES):
            writer.write(STDOUT, 1, f"line {n}\n".encode())
        writer.close()
        return self

    async def wait(self) -> Exit:
        return Exit(exit_code=0, ended_us=2)

    def signal(self, number: int) -> None: ...

    def addresses(self) -> tuple[Address, ...]:
        return ()

    def detach(self) -> None:
        self.is_detached = True

    async def attach(self, directory: ContainerDirectory, record: ContainerRecord) -> Exit:
        return Exit()

    async def remove(self, container_id: str) -> None: ...

    async def sweep(self, known: frozenset[str]) -> None: ...


@pytest.fixture
def link() -> Recorded:
    return Recorded()


@pytest.fixture
async def supervisor(tmp_path: Path, link: Recorded) -> AsyncIterator[Supervisor]:
    made = Supervisor(Talkative(), (), tmp_path, link)
    link.supervisor = made
    yield made
    await made.detach()


def order() -> StartContainer:
    spec = ContainerSpec(
        task_id="t",
        task_type="TRIAL",
        description="d",
        entrypoint=("true",),
        environment={},
        work_dir="/",
    )
    return StartContainer(
        number=1, epoch=1, container_id="c", allocation_id="a", slot_ids=(), spec=spec
    )


async def test_the_end_is_told_after_the_last_line_is_stored(
    supervisor: Supervisor, link: Recorded
) -> None:
    supervisor.obey(order())
    await until(lambda: "TERMINATED" in link.states())
    lines = [sum(s.count for s in b.spans) for b in link.told if isinstance(b, LogBatch)]
    assert sum(lines) >= LINES
    last = link.told[-1]
    assert isinstance(last, ContainerReport)
    assert last.state == "TERMINATED"


async def test_the_end_does_not_wait_for_ever_for_a_master_that_stores_nothing(
    supervisor: Supervisor, link: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "SHIP_FIRST_S", 0.05)
    link.is_acknowledging = False
    supervisor.obey(order())
    await until(lambda: "TERMINATED" in link.states())


async def test_the_end_of_what_was_never_started_is_told_to_who_wants_it_ended(
    supervisor: Supervisor, link: Recorded
) -> None:
    supervisor.obey(SignalContainer(1, 1, "c", 9))
    assert link.told == []  # a master of an earlier release does not say whose it is
    supervisor.obey(SignalContainer(2, 1, "c", 9, "a"))
    ended = Failure("container_aborted", "ended before it ran")
    assert link.told == [ContainerReport("c", "a", "TERMINATED", ended)]
