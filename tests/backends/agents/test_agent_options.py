"""Options of the agent that only a process of its own can prove."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import (
    FAST,
    AgentProcess,
    OpenDoor,
    Recorder,
    identity,
    listening,
    until,
)
from tests.covers import covers
from tests.e2e.cluster import until as until_true
from tests.free_ports import free_port

from determined_master.backends.agents.backend import AgentBackend

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Any]:
    started: list[AgentProcess] = []

    def start(**options: Any) -> AgentProcess:
        agent = AgentProcess(tmp_path, options.pop("port", free_port()), **options)
        agent.start()
        started.append(agent)
        return agent

    yield start
    for agent in started:
        agent.stop(signal.SIGKILL)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def json_of(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def ended(agent: AgentProcess) -> int:
    assert agent.process is not None
    return agent.process.wait(60)


@covers("agent-config 2.hooks.on_connection_lost 2.agent_reconnect_attempts")
@covers("agent-config 2.agent_reconnect_backoff 4.reconnect 1.fatal")
def test_the_hook_runs_when_the_attempts_are_used_up(agents: Any, tmp_path: Path) -> None:
    told = tmp_path / "told"
    agent = agents(
        agent_reconnect_attempts=2,
        agent_reconnect_backoff=0,
        hooks={"on_connection_lost": ["sh", "-c", f"echo $0 > {told}", "two words"]},
    )
    assert ended(agent) == 1
    assert told.read_text() == "two words\n"
    log = agent.log.read_text()
    assert "was not reached in 2 attempts" in log
    assert log.count("no connection to the master") == 3  # the first, and two more
    assert "failed:" not in log


@covers("agent-config 2.hooks.on_connection_lost")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/no/such/program"], "hooks.on_connection_lost failed: [Errno 2]"),
        (["sh", "-c", "exit 7"], "hooks.on_connection_lost failed: sh ended with 7"),
    ],
)
def test_a_hook_that_fails_is_only_logged(agents: Any, command: list[str], said: str) -> None:
    agent = agents(
        agent_reconnect_attempts=0,
        agent_reconnect_backoff=0,
        hooks={"on_connection_lost": command},
    )
    assert ended(agent) == 1
    assert said in agent.log.read_text()


@covers("agent-config 2.hooks.on_connection_lost")
async def test_the_hook_runs_when_the_master_refuses_the_agent(
    agents: Any, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    async with listening() as listener:
        backend = AgentBackend(identity(), Recorder(), OpenDoor("no: do this"), times=FAST)
        backend.open({}, 1)
        listener.backend = backend
        hook = {"on_connection_lost": ["touch", str(told)]}
        agent = agents(port=listener.port, hooks=hook)
        await until(lambda: agent.process.poll() is not None)
    assert agent.process.returncode == 3
    assert told.exists()


async def test_an_agent_with_an_empty_token_file_waits_for_the_token(
    agents: Any, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.touch()
    recorder = Recorder()
    async with listening() as listener:
        backend = AgentBackend(identity(), recorder, OpenDoor(), times=FAST)
        backend.open({}, 1)
        listener.backend = backend
        agent = agents(port=listener.port, join_token_file=str(file))
        said = f"join_token_file {file} is empty; write the output of `det -u admin agent token`"
        await until(lambda: said in agent.log.read_text())
        assert recorder.joined == []
        file.write_text("token\n")
        await until(lambda: recorder.joined)
        agent.stop()


@covers("agent-config 1.logged 1.signals 2.api_enabled")
async def test_the_agent_logs_its_settings_reports_its_health_and_exits_at_a_signal(
    agents: Any,
) -> None:
    port = free_port()
    async with listening() as listener:
        backend = AgentBackend(identity(), Recorder(), OpenDoor(), times=FAST)
        backend.open({}, 1)
        listener.backend = backend
        agent = agents(
            port=listener.port,
            join_token="SECRET",
            http_proxy="http://ada:SECRET@proxy",
            api_enabled=True,
            bind_port=port,
            fluent={"port": 1},
        )
        await until(lambda: any(a.is_connected for a in backend.agents()))
        health = await asyncio.to_thread(json_of, f"http://127.0.0.1:{port}/health")
        agent.send(signal.SIGINT)
        await until(lambda: agent.process.poll() is not None)
    assert health["is_connected"]
    assert (health["agent_id"], health["slots"]) == ("agent-1", 2)
    assert agent.process.returncode == 0
    log = agent.log.read_text()
    [shown] = [line for line in log.splitlines() if " configuration: " in line]
    settings = json.loads(shown.partition(" configuration: ")[2])
    assert settings["artificial_slots"] == 2
    assert settings["join_token"] == "********"
    assert "SECRET" not in log
    assert "WARNING  fluent has no effect" in log


def test_files_of_tls_that_cannot_be_read_end_the_agent_with_the_remedy(agents: Any) -> None:
    agent = agents(security={"tls": {"enabled": True, "master_cert": "/no/such/file"}})
    assert ended(agent) == 2
    assert "security.tls.master_cert /no/such/file cannot be read" in agent.log.read_text()


def test_a_port_in_use_ends_the_agent_with_the_remedy(agents: Any) -> None:
    first = agents(api_enabled=True, bind_port=(port := free_port()))
    until_true(lambda: is_open(port), what="the first agent's port")
    second = agents(agent_id="agent-2", api_enabled=True, bind_port=port)
    assert ended(second) == 2
    assert "choose another `bind_ip` or `bind_port`" in second.log.read_text()
    assert first.process.poll() is None


@covers("agent-config 3.malformed 1.fatal")
def test_output_of_a_vendors_tool_that_cannot_be_read_ends_the_agent(
    agents: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "rocm-smi"
    tool.write_text("#!/bin/sh\necho no json\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    agent = agents(slot_type="rocm", artificial_slots=0)
    assert ended(agent) == 2
    assert "rocm-smi printed unexpected output" in agent.log.read_text()
