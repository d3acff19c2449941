"""The supervisor: order of output and end, and containers that share devices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.agent_link import until

from determined_agent import supervisor as subject
from determined_agent.container.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.container.environment import ContainerStart
from determined_agent.logs.shipper import Disconnected
from determined_agent.shim.spool import STDOUT, SpoolWriter
from determined_agent.supervisor import Supervisor
from determined_wire.agent_link import (
    Address,
    ContainerReport,
    ContainerSpec,
    ContainerState,
    Device,
    Failure,
    LogBatch,
    LogStored,
    SignalContainer,
    StartContainer,
    Welcome,
)

LINES = 2500


class Recorded:
    """A link that records messages in order; the test acknowledges them."""

    connection = 1

    def __init__(self) -> None:
        self.sent: list[LogBatch | ContainerReport] = []
        self.is_acknowledging = True
        self.supervisor: Supervisor | None = None

    async def connected(self) -> int:
        return self.connection

    async def send_logs(self, connection: int, batch: LogBatch) -> None:
        if connection != self.connection:
            raise Disconnected
        self.sent.append(batch)
        if self.is_acknowledging:
            asyncio.get_running_loop().call_soon(self._acknowledge, batch)

    def report(self, report: ContainerReport) -> None:
        self.sent.append(report)

    def states(self) -> list[str]:
        return [t.state for t in self.sent if isinstance(t, ContainerReport)]

    def _acknowledge(self, batch: LogBatch) -> None:
        assert self.supervisor is not None
        seq = batch.first_seq - 1 + sum(span.count for span in batch.spans)
        self.supervisor.log_stored(LogStored(batch.container_id, seq, batch.is_last))


class Talkative:
    """A runtime with one task, which writes its lines and ends at once."""

    name = "talkative"

    def __init__(self) -> None:
        self.is_detached = False

    async def check(self) -> None: ...

    async def launch(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
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


async def test_the_end_is_reported_after_the_last_line_is_stored(
    supervisor: Supervisor, link: Recorded
) -> None:
    supervisor.handle_order(order())
    await until(lambda: "TERMINATED" in link.states())
    lines = [sum(s.count for s in b.spans) for b in link.sent if isinstance(b, LogBatch)]
    assert sum(lines) >= LINES
    last = link.sent[-1]
    assert isinstance(last, ContainerReport)
    assert last.state == "TERMINATED"


async def test_the_end_waits_a_limited_time_for_the_output_to_be_stored(
    supervisor: Supervisor, link: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "SHIP_FIRST_S", 0.05)
    link.is_acknowledging = False
    supervisor.handle_order(order())
    await until(lambda: "TERMINATED" in link.states())


class Clinging(Talkative):
    """A runtime with tasks that end some time after they are ordered to."""

    def __init__(self) -> None:
        super().__init__()
        self.launched: list[str] = []
        self.may_end = asyncio.Event()
        self.is_told = asyncio.Event()

    async def launch(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
        progress: Callable[[ContainerState], None],
    ) -> Clinging:
        self.launched.append(start.container_id)
        return self

    async def wait(self) -> Exit:
        await self.may_end.wait()
        return Exit(exit_code=137, ended_us=2)

    def signal(self, number: int) -> None:
        self.is_told.set()


async def test_a_device_is_reused_only_after_its_last_user_has_ended(
    tmp_path: Path, link: Recorded
) -> None:
    """After the master gave the agent up, the old container is unwanted but still running."""
    runtime = Clinging()
    devices = (Device(0, "b", "u0", "cuda"), Device(1, "b", "u1", "cuda"))
    supervisor = link.supervisor = Supervisor(runtime, devices, tmp_path, link)
    try:
        supervisor.handle_order(replace(order(), container_id="old", slot_ids=(0,)))
        await until(lambda: runtime.launched == ["old"])
        supervisor.welcome(
            Welcome(
                protocol=1,
                epoch=1,
                master_id="m",
                cluster_id="c",
                cluster_name="n",
                version="0",
                keep=(),
            )
        )
        await until(runtime.is_told.is_set)
        supervisor.handle_order(replace(order(), container_id="other", slot_ids=(1,)))
        await until(lambda: runtime.launched == ["old", "other"])
        supervisor.handle_order(replace(order(), container_id="new", slot_ids=(0, 1)))
        for _ in range(20):
            await asyncio.sleep(0)
        assert runtime.launched == ["old", "other"]
        runtime.may_end.set()
        await until(lambda: runtime.launched == ["old", "other", "new"])
    finally:
        runtime.may_end.set()
        await supervisor.detach()


async def test_a_signal_for_an_unknown_container_reports_its_end(
    supervisor: Supervisor, link: Recorded
) -> None:
    supervisor.handle_order(SignalContainer(1, 1, "c", 9))
    assert link.sent == []  # an older master does not send the allocation
    supervisor.handle_order(SignalContainer(2, 1, "c", 9, "a"))
    ended = Failure("container_aborted", "ended before it ran")
    assert link.sent == [ContainerReport("c", "a", "TERMINATED", ended)]


async def test_a_container_started_and_ended_at_once_ends(
    supervisor: Supervisor, link: Recorded
) -> None:
    """The launch is canceled before its first step, so it never runs."""
    supervisor.handle_order(order())
    supervisor.handle_order(SignalContainer(2, 1, "c", 9, "a"))
    await until(lambda: link.states()[-1:] == ["TERMINATED"])
    [end] = [t for t in link.sent if isinstance(t, ContainerReport)]
    assert end.failure is not None
    assert end.failure.type == "container_aborted"
