"""The behavior that every container runtime must have; each runtime subclasses the suite.

A subclass defines a fixture `driver` (see `RuntimeDriver`) and has the marks for its needs.
"""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agent_link import processes_with, spec, until
from tests.covers import covers

from determined_agent.container.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.container.environment import ContainerStart, MasterIdentity
from determined_agent.logs.spool_reader import Position, read_chunk, read_end
from determined_agent.runtimes.base import Handle, LaunchFailed, Runtime
from determined_wire.agent_link import ContainerSpec, ContainerState


class RuntimeDriver:
    """Launches containers in a runtime, and removes them after the test."""

    def __init__(self, runtime: Runtime, root: Path) -> None:
        self.runtime = runtime
        self.root = root
        self.states: list[ContainerState] = []
        self.handles: list[Handle] = []
        self.made: list[str] = []
        self.defaults: dict[str, Any] = {}
        """Further fields that this runtime's containers need."""

    def make(self, what: ContainerSpec) -> tuple[ContainerDirectory, ContainerStart]:
        """Create a container's directory without launching it."""
        unset = {
            k: v for k, v in self.defaults.items() if not getattr(what, k) or k == "network_mode"
        }
        what = msgspec.structs.replace(what, **unset)
        container_id = str(uuid.uuid4())
        directory = ContainerDirectory(self.root / container_id)
        record = ContainerRecord(
            container_id=container_id,
            allocation_id="1.task.1",
            task_id="1.task",
            slot_ids=(),
            ports=what.ports,
        )
        directory.create(record)
        self.made.append(container_id)
        start = ContainerStart(
            container_id=container_id,
            devices=(),
            spec=what,
            master=MasterIdentity(master_id="m", cluster_id="c"),
        )
        return directory, start

    async def launch(self, what: ContainerSpec) -> tuple[ContainerDirectory, Handle]:
        directory, start = self.make(what)
        handle = await self.runtime.launch(directory, start, self.states.append)
        self.handles.append(handle)
        return directory, handle

    async def run(self, *script: str, **overrides: Any) -> tuple[Exit, list[str]]:
        """Run a Python script; return how it ended, and its lines."""
        directory, handle = await self.launch(spec(*script, **overrides))
        end = await asyncio.wait_for(handle.wait(), 60)
        return end, lines_of(directory, end)

    async def clean_up(self) -> None:
        for handle in self.handles:
            handle.signal(9)
            await asyncio.wait_for(handle.wait(), 60)
            handle.detach()
        for container_id in self.made:
            await self.runtime.remove(container_id)


def lines_of(directory: ContainerDirectory, end: Exit | None = None) -> list[str]:
    """Return the lines of a task so far, or all of them."""
    position, lines = Position(), []
    while True:
        chunk, after = read_chunk(directory.output, position)
        lines += chunk.text.split("\n") if chunk.spans else []
        if after == position:
            break
        position = after
    if end is not None:
        chunk, _ = read_end(position, end.ended_us, end.dropped_lines)
        lines += chunk.text.split("\n") if chunk.spans else []
    return [line for line in lines if "ignores environment" not in line]


@pytest.mark.slow
class RuntimeContract:
    """The tests of every runtime."""

    @pytest.mark.parametrize("code", [0, 1, 77, 255])
    async def test_the_exit_code_is_the_tasks_own(self, driver: RuntimeDriver, code: int) -> None:
        end, _ = await driver.run(f"raise SystemExit({code})")
        assert end.exit_code == code
        assert (end.failure is None) == (code == 0)
        if end.failure is not None:
            assert (end.failure.type, end.failure.exit_code) == ("container_failed", code)

    async def test_a_task_killed_by_a_signal_ends_with_128_plus_its_number(
        self, driver: RuntimeDriver
    ) -> None:
        # A kernel fault: the first process of a container ignores signals that it sends to itself.
        end, _ = await driver.run("import ctypes", "ctypes.string_at(0)")
        assert end.exit_code == 139

    async def test_all_output_is_stored_when_the_task_has_ended(
        self, driver: RuntimeDriver
    ) -> None:
        end, lines = await driver.run(
            "import sys",
            "for i in range(20000): sys.stdout.write(f'{i}\\n')",
            "sys.stdout.write('no line break at the end')",
        )
        assert end.exit_code == 0
        assert lines == [str(i) for i in range(20000)] + ["no line break at the end"]

    async def test_both_streams_and_invalid_bytes_are_stored(self, driver: RuntimeDriver) -> None:
        _, lines = await driver.run(
            "import os",
            "os.write(1, b'out \\xff\\n')",
            "os.write(2, b'err\\r\\n')",
            "os.write(1, b'x' * 70000 + b'\\n')",
        )
        assert {"out \ufffd", "err"} <= set(lines)
        assert sum(len(line) for line in lines) > 70000

    async def test_it_runs_in_its_work_dir_with_its_environment(
        self, driver: RuntimeDriver
    ) -> None:
        _, lines = await driver.run(
            "import os",
            "for n in ('MINE', 'DET_CLUSTER_ID', 'DET_MASTER_ID', 'DET_AGENT_ID',"
            " 'DET_SLOT_IDS', 'DET_MASTER', 'DET_MASTER_PORT'):",
            "    print(n, os.environ[n])",
            "print(os.getcwd() == os.path.realpath(os.environ['DET_WORKDIR']))",
            environment={
                "MINE": "yes",
                "DET_CLUSTER_ID": "not mine to set",
                "DET_WORKDIR": "/run/determined/workdir",
            },
        )
        assert lines == [
            "MINE yes",
            "DET_CLUSTER_ID c",
            "DET_MASTER_ID m",
            "DET_AGENT_ID agent-1",
            "DET_SLOT_IDS []",
            "DET_MASTER http://master:8080",
            "DET_MASTER_PORT 8080",
            "True",
        ]

    async def test_a_missing_program_is_a_task_error(self, driver: RuntimeDriver) -> None:
        with pytest.raises(LaunchFailed) as caught:
            await driver.launch(spec(entrypoint=("/no/such/program",)))
        assert caught.value.failure.type == "task_error"
        assert "/no/such/program" in caught.value.failure.message

    async def test_a_signal_reaches_the_task(self, driver: RuntimeDriver) -> None:
        directory, handle = await driver.launch(
            spec(
                "import signal, sys, time",
                "signal.signal(15, lambda *_: sys.exit(33))",
                "print('ready')",
                "time.sleep(600)",
            )
        )
        await until(lambda: lines_of(directory) == ["ready"])
        handle.signal(15)
        assert (await asyncio.wait_for(handle.wait(), 60)).exit_code == 33

    async def test_sigkill_ends_a_task_that_ignores_other_signals(
        self, driver: RuntimeDriver
    ) -> None:
        directory, handle = await driver.launch(
            spec(
                "import signal, time",
                "for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)",
                "print('ready')",
                "time.sleep(600)",
            )
        )
        await until(lambda: lines_of(directory) == ["ready"])
        handle.signal(15)
        handle.signal(9)
        assert (await asyncio.wait_for(handle.wait(), 60)).exit_code == 137

    async def test_processes_that_a_task_leaves_are_killed(self, driver: RuntimeDriver) -> None:
        directory, handle = await driver.launch(
            spec(
                "import os, time",
                "heard, told = os.pipe()",
                "if os.fork() == 0:",
                "    os.setsid()",
                "    if os.fork() == 0:",
                "        os.write(1, b'daemon\\n')",
                "        os.write(told, b'.')",
                "        time.sleep(600)",
                "    os._exit(0)",
                "os.wait()",
                "os.read(heard, 1)",
            )
        )
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 0
        assert lines_of(directory, end) == ["daemon"]
        assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []

    async def test_a_running_task_is_found_again(self, driver: RuntimeDriver) -> None:
        directory, handle = await driver.launch(
            spec("import time", "print('ready')", "time.sleep(600)", ports=(1734,))
        )
        handle.detach()
        driver.handles.remove(handle)
        record = directory.record()
        assert record is not None
        again = await driver.runtime.attach(directory, record)
        assert not isinstance(again, Exit)
        assert [a.host_port for a in again.addresses()] == [1734]
        again.signal(9)
        assert (await asyncio.wait_for(again.wait(), 60)).exit_code == 137
        again.detach()

    async def test_an_ended_task_is_found_again(self, driver: RuntimeDriver) -> None:
        directory, handle = await driver.launch(spec("raise SystemExit(9)"))
        await asyncio.wait_for(handle.wait(), 60)
        record = directory.record()
        assert record is not None
        again = await driver.runtime.attach(directory, record)
        assert isinstance(again, Exit)
        assert again.exit_code == 9

    @pytest.mark.parametrize("number", [9, 15])
    async def test_a_signal_that_no_agent_watched_is_a_restore_error(
        self, driver: RuntimeDriver, number: int
    ) -> None:
        """Somebody killed it, or the machine was rebooted: not the task's fault."""
        directory, handle = await driver.launch(spec("import sys", f"sys.exit(128 + {number})"))
        await asyncio.wait_for(handle.wait(), 60)
        record = directory.record()
        assert record is not None
        again = await driver.runtime.attach(directory, record)
        assert isinstance(again, Exit)
        assert again.exit_code == 128 + number
        assert again.failure is not None
        assert again.failure.type == "restore_error"
        assert "container is gone on reattachment" in again.failure.message

    @covers("agent-config 5.failed_restore")
    async def test_a_container_that_was_never_launched_is_a_restore_error(
        self, driver: RuntimeDriver
    ) -> None:
        directory, _ = driver.make(spec("pass"))
        record = directory.record()
        assert record is not None
        again = await driver.runtime.attach(directory, record)
        assert isinstance(again, Exit)
        assert again.failure is not None
        assert again.failure.type == "restore_error"

    async def test_a_canceled_launch_leaves_nothing(self, driver: RuntimeDriver) -> None:
        directory, start = driver.make(spec("import time", "time.sleep(600)"))
        launching = asyncio.create_task(
            driver.runtime.launch(directory, start, driver.states.append)
        )
        await until(lambda: "STARTING" in driver.states)
        launching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await launching
        assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []

    async def test_states_are_reported_during_the_launch(self, driver: RuntimeDriver) -> None:
        await driver.run("pass")
        assert driver.states[-1] == "STARTING"
