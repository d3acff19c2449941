"""A real agent process against the master's end of the link, over a real socket."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import (
    Listener,
    Recorder,
    order,
    processes_with,
    spec,
    until,
)
from tests.backends.agents.real_agents import backend_of, connected, counting, until_there
from tests.covers import covers

from determined_agent.container.directory import ContainerDirectory
from determined_master.ports.agents import NotConnected

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


@covers("agent-config 4.reports 5.failed_exit")
@covers("scheduling-and-provisioning d.1.hello d.1.messages")
async def test_a_container_runs_ends_and_is_forgotten(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    agent = agents()
    await until(lambda: connected(backend))
    [snapshot] = backend.agents()
    assert (snapshot.id, snapshot.pool, snapshot.address) == ("agent-1", "default", "127.0.0.1")
    assert [d.id for d in snapshot.devices] == [0, 1]

    what = spec(
        "print('hello'); import sys; print('oh', file=sys.stderr); sys.exit(3)", ports=(1734,)
    )
    await backend.start_container(order(container, what))
    await until(lambda: container in events.complete)
    await until(lambda: (r := events.last(container)) and r.state == "TERMINATED")

    states = [r.state for _, _, r in events.changes]
    assert states == ["STARTING", "RUNNING", "TERMINATED"]
    assert [n for _, n, _ in events.changes] == [1, 2, 3]
    running, ended = events.changes[1][2], events.changes[2][2]
    assert [(a.host_ip, a.host_port) for a in running.addresses] == [("127.0.0.1", 1734)]
    assert (ended.exit_code, ended.failure and ended.failure.type) == (3, "container_failed")
    assert sorted(events.texts(container)) == ["hello", "oh"]
    assert agent.directory(container).exists()
    await backend.forget_container("agent-1", container)
    await until(lambda: not agent.directory(container).exists())


@covers("agent-config 4.orders 5.signals")
async def test_signals_reach_the_task_and_nine_ends_its_whole_tree(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    agents()
    await until(lambda: connected(backend))
    script = (
        "import os, signal, time",
        "signal.signal(15, lambda *_: os.write(1, b'asked\\n'))",
        "if os.fork() == 0:",
        "    os.setsid()",
        "    os.write(1, b'child\\n')",
        "    while True: time.sleep(60)",
        "os.write(1, b'ready\\n')",
        "while True: time.sleep(60)",
    )
    await backend.start_container(order(container, spec(*script)))
    await until(lambda: {"ready", "child"} <= set(events.texts(container)))
    await backend.signal_container("agent-1", container, 15)
    await until(lambda: "asked" in events.texts(container))
    assert len(processes_with(f"DET_CONTAINER_ID={container}")) == 2
    await backend.signal_container("agent-1", container, 9)
    await until(lambda: (r := events.last(container)) and r.state == "TERMINATED")
    report = events.last(container)
    assert report is not None
    assert report.exit_code == 137
    assert processes_with(f"DET_CONTAINER_ID={container}") == []


@covers("agent-config 4.outbox 4.reconnected")
@covers("scheduling-and-provisioning d.1.known d.3.buffered")
async def test_a_cut_socket_loses_no_line_no_state_and_repeats_no_order(
    listener: Listener, agents: Any, container: str, tmp_path: Path
) -> None:
    events = Recorder()
    events.store_delay_s = 0.002
    events.keep.add(container)
    backend = backend_of(listener, events)
    agents()
    await until(lambda: connected(backend))
    script = ("import os, signal", "signal.signal(10, lambda *_: os.write(1, b'once\\n'))")
    go = tmp_path / "go"
    what = spec(*script, *counting(400, 0.004), *until_there(go))
    await backend.start_container(order(container, what))
    for cut in range(5):
        await until(lambda n=cut: len(events.lines.get(container, ())) > 30 * (n + 1))
        if cut == 2:
            telling = asyncio.create_task(backend.signal_container("agent-1", container, 10))
            await asyncio.sleep(0)
        for agent in backend._registry:
            assert agent.session is not None
            agent.session.end("cut by the test")
        await until(lambda n=cut: len(events.joined) == n + 2)
    await telling
    go.touch()
    await until(lambda: container in events.complete)
    lines = events.texts(container)
    assert [x for x in lines if x != "once"] == [f"line {i}" for i in range(400)]
    assert lines.count("once") == 1
    await until(lambda: len(events.changes) >= 3)  # the end is told after the last line
    assert [r.state for _, _, r in events.changes] == ["STARTING", "RUNNING", "TERMINATED"]


@covers("scheduling-and-provisioning d.4.agent_restart")
@pytest.mark.kill
@covers("agent-config 4.reattach")
async def test_a_killed_agent_finds_its_task_again_and_loses_no_line(
    listener: Listener, agents: Any, container: str, tmp_path: Path
) -> None:
    events = Recorder()
    events.keep.add(container)
    backend = backend_of(listener, events)
    agent = agents()
    await until(lambda: connected(backend))
    go = tmp_path / "go"
    what = spec(*counting(300, 0.005), *until_there(go), "sys.exit(7)")
    await backend.start_container(order(container, what))
    await until(lambda: len(events.lines.get(container, ())) > 50)
    agent.stop(signal.SIGKILL)
    before = len(processes_with(f"DET_CONTAINER_ID={container}"))
    agent.start()
    go.touch()
    await until(lambda: container in events.complete)
    await until(lambda: (r := events.last(container)) and r.state == "TERMINATED")
    assert before == 1
    assert events.texts(container) == [f"line {i}" for i in range(300)]
    report = events.last(container)
    assert report is not None
    assert report.exit_code == 7
    assert events.lost == []


@covers("scheduling-and-provisioning d.4.ended_away")
@pytest.mark.kill
@covers("agent-config 4.exits")
async def test_an_end_while_the_agent_was_down_is_reported(
    listener: Listener, agents: Any, container: str, tmp_path: Path
) -> None:
    events = Recorder()
    events.keep.add(container)
    backend = backend_of(listener, events)
    agent = agents()
    await until(lambda: connected(backend))
    go = tmp_path / "go"
    what = spec(*counting(40, 0.005), *until_there(go), "sys.exit(5)")
    await backend.start_container(order(container, what))
    await until(lambda: len(events.lines.get(container, ())) > 5)
    agent.stop(signal.SIGKILL)
    go.touch()
    directory = ContainerDirectory(agent.directory(container))
    await until(lambda: directory.path.joinpath("status").exists() and has_no_shim(directory))
    agent.start()
    await until(lambda: container in events.complete)
    [_, (_, [report])] = events.joined
    assert (report.state, report.exit_code) == ("TERMINATED", 5)
    assert events.texts(container) == [f"line {i}" for i in range(40)]


@covers("agent-config 1.signals 4.reattach")
@covers("scheduling-and-provisioning d.4.unexpected")
async def test_a_terminated_agent_detaches_and_its_task_runs_on(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events, wait_s=0.5)
    agent = agents()
    await until(lambda: connected(backend))
    await backend.start_container(order(container, spec(*counting(10**6, 0.01))))
    await until(lambda: len(events.lines.get(container, ())) > 5)
    assert agent.stop() == 0
    assert len(processes_with(f"DET_CONTAINER_ID={container}")) == 1
    await until(lambda: events.lost)
    assert events.lost == [("agent-1", "it did not reconnect within 0.5 s")]
    with pytest.raises(NotConnected, match="agent-1 is not connected"):
        await backend.signal_container("agent-1", container, 9)
    agent.start()  # the master does not want the container any more
    await until(lambda: not agent.directory(container).exists())
    assert processes_with(f"DET_CONTAINER_ID={container}") == []


async def test_a_failing_store_is_tried_again_and_nothing_is_lost(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    agents()
    await until(lambda: connected(backend))
    events.failures = [RuntimeError("no database"), RuntimeError("no database")]
    await backend.start_container(order(container, spec(*counting(200, 0.002))))
    await until(lambda: container in events.complete)
    await until(lambda: (r := events.last(container)) and r.state == "TERMINATED")
    assert events.texts(container) == [f"line {i}" for i in range(200)]
    assert [r.state for _, _, r in events.changes] == ["STARTING", "RUNNING", "TERMINATED"]


@covers("agent-config 5.failed_task")
async def test_a_container_that_cannot_start_is_a_task_error(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    agents()
    await until(lambda: connected(backend))
    await backend.start_container(order(container, spec(entrypoint=("no-such-program",))))
    await until(lambda: container in events.complete)
    await until(lambda: (r := events.last(container)) and r.state == "TERMINATED")
    report = events.last(container)
    assert report is not None
    assert report.failure is not None
    assert report.failure.type == "task_error"
    assert "cannot run 'no-such-program': No such file or directory" in report.failure.message


@covers("agent-config 5.devices 5.failed_agent")
async def test_a_container_on_slots_that_are_not_there_is_an_agent_error(
    listener: Listener, agents: Any, container: str
) -> None:
    events = Recorder()
    backend = backend_of(listener, events)
    agents()
    await until(lambda: connected(backend))
    await backend.start_container(order(container, spec("pass"), slot_ids=(0, 9)))
    await until(lambda: container in events.complete and events.last(container))
    report = events.last(container)
    assert report is not None
    assert report.failure is not None
    assert report.failure.type == "agent_error"
    assert "slots [9] are not on this agent" in report.failure.message


def has_no_shim(directory: ContainerDirectory) -> bool:
    """Whether the process that wrote a container's status has ended too."""
    lock = directory.lock()
    if lock is None:
        return False
    os.close(lock)
    return True
