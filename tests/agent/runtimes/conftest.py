"""A Docker runtime to launch in, and a registry that removes its images afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.runtime_contract import RuntimeDriver
from tests.docker_daemon import IMAGE, Daemon
from tests.registry import Registry, registry

from determined_agent.runtimes.docker.runtime import DockerRuntime
from determined_agent.settings.options import Settings

Make = Callable[..., RuntimeDriver]


@pytest.fixture
async def make(docker: Daemon, tmp_path: Path) -> AsyncIterator[Make]:
    drivers: list[RuntimeDriver] = []

    def build(name: str = "agent-1", **overrides: Any) -> RuntimeDriver:
        values: dict[str, Any] = {
            "master_host": "master",
            "master_port": 8080,
            "agent_id": "agent-1",
            "work_dir": str(tmp_path),
            "docker_host": docker.address,
        }
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        answer_s, launch_retry_s = (
            overrides.pop("answer_s", 60.0),
            overrides.pop("launch_retry_s", 0.0),
        )
        settings = Settings(**(values | overrides))
        made = RuntimeDriver(DockerRuntime(settings, root, answer_s, launch_retry_s), root)
        made.defaults = {"image": IMAGE, "network_mode": "host"}
        drivers.append(made)
        return made

    yield build
    for made in drivers:
        await made.clean_up()
        for directory in made.root.iterdir():
            await made.runtime.remove(directory.name)
    assert docker.containers() == []


@pytest.fixture
def images(docker: Daemon) -> Iterator[Registry]:
    with registry() as made:
        yield made
        docker.run("image", "prune", "-f")
        if docker.run("image", "ls", "-q", made.image):
            docker.run("image", "rm", "-f", made.image)


@pytest.fixture
def driver(make: Make) -> RuntimeDriver:
    """A runtime with default options; a module's own `make` fixture chooses its kind."""
    return make()
