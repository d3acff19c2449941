"""The Docker runtime on a real daemon: the contract of all runtimes, and what is its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.runtime_contract import RuntimeContract, Workshop
from tests.docker_daemon import IMAGE, Daemon

from determined_agent.runtimes.docker import DockerRuntime
from determined_agent.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.xdist_group("docker")]


@pytest.fixture
async def workshop(docker: Daemon, tmp_path: Path) -> AsyncIterator[Workshop]:
    values: dict[str, Any] = {
        "master_host": "master",
        "master_port": 8080,
        "agent_id": "agent-1",
        "work_dir": str(tmp_path),
        "docker_host": docker.address,
    }
    made = Workshop(DockerRuntime(Settings(**values), tmp_path), tmp_path)
    made.defaults = {"image": IMAGE, "network_mode": "host"}
    yield made
    await made.clean_up()
    for directory in tmp_path.iterdir():
        await made.runtime.remove(directory.name)
    assert docker.containers() == []


class TestDockerRuntime(RuntimeContract):
    pass
