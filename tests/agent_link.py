"""The master's side of the agent link on a real socket, and real agent processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from determined_agent.runtimes.process.cgroups import remove_cgroup
from determined_master.backends.agents.backend import AgentBackend, MasterIdentity
from determined_master.backends.agents.session import LinkTimes
from determined_master.ports.agents import AgentSnapshot, Refusal
from determined_master.ports.orders import StartOrder
from determined_wire.agent_link import ContainerReport, ContainerSpec, Hello, LogBatch

ROOT = Path(__file__).parent.parent
FAST = LinkTimes(ping_after_s=0.4, answer_s=2.0, probe_s=2.0)
"""Short timeouts; an agent on a busy machine may be silent for a second."""


class Recorder:
    """Receives the agents' messages in place of the services; each part can be made to fail."""

    def __init__(self) -> None:
        self.keep: set[str] = set()
        self.joined: list[tuple[AgentSnapshot, tuple[ContainerReport, ...]]] = []
        self.lost: list[tuple[str, str]] = []
        self.changes: list[tuple[str, int, ContainerReport]] = []
        self.ending: list[tuple[str, str, str]] = []
        """Machines that end soon: agent, boot, reason."""
        self.lines: dict[str, dict[int, tuple[str, str, str]]] = {}
        """By container and number: text, stdtype, source."""
        self.repeated: int = 0
        self.complete: set[str] = set()
        self.store_delay_s = 0.0
        self.failures: list[Exception] = []
        """Raised by the next calls that store something, one each."""
        self.before_welcome: Callable[[], Awaitable[None]] | None = None
        """Awaited once the containers to keep are known, before the welcome."""

    async def agent_joined(
        self, agent: AgentSnapshot, containers: tuple[ContainerReport, ...]
    ) -> tuple[str, ...]:
        self.joined.append((agent, containers))
        keep = tuple(self.keep)
        if self.before_welcome is not None:
            await self.before_welcome()
        return keep

    def wanted(self, agent_id: str) -> frozenset[str]:
        return frozenset(self.keep)

    async def agent_lost(self, agent_id: str, reason: str) -> None:
        self.lost.append((agent_id, reason))

    async def container_changed(
        self, agent_id: str, boot_id: str, number: int, report: ContainerReport
    ) -> None:
        if self.failures:
            raise self.failures.pop()
        self.changes.append((boot_id, number, report))

    async def machine_ending(self, agent: AgentSnapshot, boot_id: str, reason: str) -> None:
        self.ending.append((agent.id, boot_id, reason))

    async def store_logs(self, agent_id: str, batch: LogBatch) -> int:
        if self.store_delay_s:
            await asyncio.sleep(self.store_delay_s)
        if self.failures:
            raise self.failures.pop()
        stored = self.lines.setdefault(batch.container_id, {})
        seq = batch.first_seq
        texts = iter(batch.text.split("\n")) if batch.spans else iter(())
        for span in batch.spans:
            for _ in range(span.count):
                line = (next(texts), span.stdtype, span.source)
                self.repeated += seq in stored
                assert stored.setdefault(seq, line) == line, "a number was given to two lines"
                seq += 1
        if batch.is_last:
            self.complete.add(batch.container_id)
        return seq - 1

    def texts(self, container_id: str, source: str = "task") -> list[str]:
        """Return a container's lines in order; fail if one is missing."""
        stored = self.lines.get(container_id, {})
        assert sorted(stored) == list(range(1, len(stored) + 1)), "a line is missing"
        return [stored[n][0] for n in sorted(stored) if stored[n][2] == source]

    def last(self, container_id: str) -> ContainerReport | None:
        """Return the newest reported state of a container."""
        reports = [r for _, _, r in self.changes if r.container_id == container_id]
        reports += [r for _, rs in self.joined for r in rs if r.container_id == container_id]
        ended = [r for r in reports if r.state == "TERMINATED"]
        found = ended or reports
        return found[-1] if found else None


class OpenDoor:
    """Accepts every agent, or refuses all with a text."""

    def __init__(self, refusal: str | None = None) -> None:
        self.refusal = refusal

    async def check(
        self, hello: Hello, remote_address: str, *, certificate: frozenset[str] | None = None
    ) -> Refusal | None:
        return None if self.refusal is None else Refusal(self.refusal)

    async def bind(self, hello: Hello, remote_address: str) -> Refusal | None:
        return None


def identity(**overrides: Any) -> MasterIdentity:
    values: dict[str, Any] = {
        "master_id": "master-1",
        "cluster_id": "cluster-1",
        "cluster_name": "test",
        "version": "0.0",
    }
    return MasterIdentity(**(values | overrides))


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Listener:
    """A port that serves the current backend."""

    def __init__(self) -> None:
        self.backend: AgentBackend | None = None
        self.port = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket" and self.backend is not None:
            await self.backend.endpoint(scope, receive, send)


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    """Listen on a free port of loopback."""
    listener = Listener()
    config = uvicorn.Config(
        listener, host="127.0.0.1", port=0, ws="websockets-sansio", lifespan="off", log_config=None
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        await until(lambda: server.started)
        listener.port = server.servers[0].sockets[0].getsockname()[1]
        yield listener
    finally:
        if listener.backend is not None:
            await listener.backend.close()
        server.should_exit = True
        await serving


async def until(
    claim: Callable[[], object], deadline_s: float = 60.0, what: str = "it did not come true"
) -> None:
    """Wait until a condition holds."""
    give_up_at = time.monotonic() + deadline_s
    while not claim():
        assert time.monotonic() < give_up_at, what
        await asyncio.sleep(0.005)


class AgentProcess:
    """An agent as a separate process."""

    def __init__(self, work_dir: Path, port: int, **options: Any) -> None:
        self.work_dir = work_dir
        values = {
            "master_host": "127.0.0.1",
            "master_port": port,
            "agent_id": "agent-1",
            "artificial_slots": 2,
            "container_runtime": "process",
            "advertised_address": "127.0.0.1",
            "work_dir": str(work_dir),
        }
        self.options = {**values, **options}
        self.process: subprocess.Popen[bytes] | None = None
        self.log = work_dir / f"{self.options['agent_id']}.log"

    def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        environment["PYTHONPATH"] = str(ROOT / "src")
        config = self.work_dir / f"{self.options['agent_id']}.json"
        config.write_bytes(msgspec.json.encode(self.options))
        command = "from determined_agent.main import main; main()"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", command, "--config-file", str(config)],
                env=environment,
                stdout=log,
                stderr=log,
            )

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the process, but not its containers; return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)

    def directory(self, container_id: str) -> Path:
        return self.work_dir / str(self.options["agent_id"]) / container_id


def spec(*script: str, **overrides: Any) -> ContainerSpec:
    """Specify a container that runs the lines of a Python script."""
    values: dict[str, Any] = {
        "task_id": "1.task",
        "task_type": "TRIAL",
        "description": "test",
        "entrypoint": ("python3", "-c", "\n".join(script)),
        "environment": {"DET_RUN_DIR": "/run/determined"},
        "work_dir": "/run/determined/workdir",
    }
    return ContainerSpec(**(values | overrides))


def order(container_id: str, what: ContainerSpec, **overrides: Any) -> StartOrder:
    values: dict[str, Any] = {
        "agent_id": "agent-1",
        "container_id": container_id,
        "allocation_id": "1.task.1",
        "slot_ids": (0,),
        "spec": what,
    }
    return StartOrder(**(values | overrides))


def processes_with(marker: str) -> list[int]:
    """Return the processes with a variable in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if marker.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def kill_leftovers(variables: Mapping[str, str]) -> None:
    """Kill the processes that a test has left, and remove the cgroups of its containers."""
    for name, value in variables.items():
        give_up_at = time.monotonic() + 10
        while (found := processes_with(f"{name}={value}")) and time.monotonic() < give_up_at:
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        if name == "DET_CONTAINER_ID":
            remove_cgroup(value)
