"""The podman runtime on a real service: the contract of all runtimes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agent_link import spec
from tests.contracts.runtime_contract import RuntimeContract, RuntimeDriver
from tests.podman_service import IMAGE, Podman

from determined_agent.runtimes.base import LaunchFailed
from determined_agent.runtimes.docker.runtime import DockerRuntime
from determined_agent.settings.options import Settings
from determined_wire.agent_link import File, Mount, TaskUser

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.xdist_group("docker")]


@pytest.fixture
async def driver(podman: Podman, tmp_path: Path) -> AsyncIterator[RuntimeDriver]:
    settings = Settings(
        master_host="master",
        master_port=8080,
        agent_id="agent-1",
        work_dir=str(tmp_path),
        container_runtime="podman",
        docker_host=podman.address,
    )
    root = tmp_path / "agent-1"
    root.mkdir()
    made = RuntimeDriver(DockerRuntime(settings, root, launch_retry_s=0.0), root)
    made.defaults = {"image": IMAGE, "network_mode": "host"}
    yield made
    await made.clean_up()
    for directory in root.iterdir():
        await made.runtime.remove(directory.name)
    assert podman.containers() == []


class TestPodmanRuntime(RuntimeContract):
    async def test_the_task_finds_its_user_files_memory_and_mounts(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        _, lines = await driver.run(
            "import os, pathlib",
            "print(os.getuid(), os.getgid(), os.getcwd(), open('../given').read())",
            "shm = os.statvfs('/dev/shm')",
            "print(shm.f_frsize * shm.f_blocks)",
            "import determined",
            "print(determined.__file__)",
            "pathlib.Path('/outside/made').write_text('here')",
            user=TaskUser("someone", 54321, "some", 54322),
            files=(File("/run/determined/given", b"content", 0o600),),
            mounts=(Mount(str(shared), "/outside"),),
            shm_size_bytes=100 * 1024**2,
        )
        assert lines == [
            "54321 54322 /run/determined/workdir content",
            str(100 * 1024**2),
            "/opt/determined/harness/determined/__init__.py",
        ]
        assert (shared / "made").stat().st_uid == 54321

    async def test_the_error_names_a_missing_image(self, driver: RuntimeDriver) -> None:
        name = "127.0.0.1:9/nothing:1"
        with pytest.raises(LaunchFailed) as caught:
            await driver.launch(spec("pass", image=name))
        assert caught.value.failure.type == "task_error"
        assert f"the image {name} could not be pulled" in caught.value.failure.message
