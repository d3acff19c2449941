"""The contract of all runtimes, for tasks with namespaces of their own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.contracts.runtime_contract import RuntimeContract, RuntimeDriver
from tests.open_directory import open_directory

from determined_agent.container.directory import ContainerDirectory
from determined_agent.container.environment import ContainerStart
from determined_agent.runtimes.process.isolation import find_obstacle
from determined_agent.runtimes.process.runtime import ProcessRuntime
from determined_agent.settings.options import Settings
from determined_wire.agent_link import ContainerSpec, TaskUser

PYTHON = "/usr/bin/python3"
"""The tests' own may be below a directory that only root can enter."""
ANN = TaskUser("ann", 54321, "ann", 54321)


class AccountDriver(RuntimeDriver):
    """Launches everything as an account of its own."""

    def make(self, what: ContainerSpec) -> tuple[ContainerDirectory, ContainerStart]:
        environment = {"DET_PYTHON_EXECUTABLE": PYTHON, **what.environment}
        made = super().make(msgspec.structs.replace(what, user=ANN, environment=environment))
        made[0].path.chmod(0o711)
        return made


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[RuntimeDriver]:
    root = tmp_path / "agent-1"
    root.mkdir(mode=0o711)
    values = {"master_host": "master", "master_port": 8080, "work_dir": str(tmp_path)}
    settings = Settings(agent_id="agent-1", **values)
    made = AccountDriver(ProcessRuntime(settings, root), root)
    yield made
    await made.clean_up()


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
@pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason=f"there is no {PYTHON}")
class TestIsolatedTasks(RuntimeContract):
    @pytest.fixture(autouse=True)
    def _needs_namespaces(self) -> None:
        if obstacle := find_obstacle():
            pytest.skip(f"no namespaces can be made here: {obstacle}")
