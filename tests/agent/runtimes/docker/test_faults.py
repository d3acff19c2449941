"""A real daemon that hangs or has a full disk, images that cannot be pulled, killed containers.

Each error names the fault and the remedy, and the machine is unchanged afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent.runtimes.conftest import Make
from tests.agent.runtimes.docker.steps import (
    SLEEP,
    UNTIL_GO,
    check_counted,
    check_pulled,
    counting,
    half_pulled,
    has_noted,
    impatient,
    inside,
    notes_of,
    said_by_itself,
)
from tests.agent_link import spec, until
from tests.contracts.runtime_contract import RuntimeDriver, lines_of
from tests.debian_tree import CannotRun
from tests.docker_daemon import Daemon, daemon, missing
from tests.registry import Registry

from determined_agent.container.directory import list_directories
from determined_agent.runtimes.base import LaunchFailed, RuntimeUnavailable
from determined_agent.runtimes.docker.api import Request
from determined_agent.runtimes.docker.runtime import DockerRuntime
from determined_agent.settings.options import Settings
from determined_wire.agent_link import RegistryAuth

pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.kill,
    pytest.mark.xdist_group("docker"),
]


SMALL_BYTES = 16 * 1024**2


class TestADaemonThatHangs:
    async def test_the_error_names_the_daemon_and_running_tasks_continue(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(counting(0.02))
        with docker.hanging(), impatient(driver, 1.0):
            with pytest.raises(
                LaunchFailed, match=r"did not answer GET /images.* in 1 s"
            ) as caught:
                await driver.launch(spec("pass"))
            assert docker.address in caught.value.failure.message
            assert caught.value.failure.type == "agent_error"
        (inside(docker) / "go").touch()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 0
        check_counted(said_by_itself(directory, end))

    async def test_a_launch_continues_if_the_daemon_is_back_within_a_minute(
        self, make: Make, docker: Daemon
    ) -> None:
        driver = make(launch_retry_s=60.0)
        directory, start = driver.make(spec("print('after all')"))
        with docker.hanging(), impatient(driver):
            launching = asyncio.create_task(
                driver.runtime.launch(directory, start, driver.states.append)
            )
            await until(lambda: has_noted(directory, "trying again in"))
        handle = await asyncio.wait_for(launching, 60)
        driver.handles.append(handle)
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 0
        assert "after all" in lines_of(directory, end)
        assert len(docker.containers()) == 1, "one try too many was left"

    async def test_a_kill_signal_arrives_once_the_daemon_recovers(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(spec(*SLEEP))
        await until(lambda: lines_of(directory) == ["ready"])
        with docker.hanging(), impatient(driver):
            handle.signal(9)
            await until(lambda: notes_of(directory) != [])
        assert "did not answer POST" in notes_of(directory)[0]
        assert (await asyncio.wait_for(handle.wait(), 60)).exit_code == 137

    async def test_an_agent_does_not_start_with_a_hanging_daemon(
        self, make: Make, docker: Daemon
    ) -> None:
        runtime = make(answer_s=0.3).runtime
        with docker.hanging(), pytest.raises(RuntimeUnavailable, match="it hangs or is over"):
            async with asyncio.timeout(60):
                await runtime.check()

    async def test_a_container_that_may_have_started_is_removed_before_the_slots_are_freed(
        self, driver: RuntimeDriver, docker: Daemon, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The daemon receives the request to start, but its answer is lost."""
        runtime = driver.runtime
        assert isinstance(runtime, DockerRuntime)
        call = runtime._api._call
        with contextlib.ExitStack() as hanging:

            async def unheard(request: Request, prefix: str) -> Any:
                answer = await call(request, prefix)
                if not request.path.endswith("/start"):
                    return answer
                hanging.enter_context(docker.hanging())
                hanging.enter_context(impatient(driver))
                return await call(request, prefix)

            monkeypatch.setattr(runtime._api, "_call", unheard)
            directory, start = driver.make(spec(*SLEEP))
            launching = asyncio.create_task(runtime.launch(directory, start, driver.states.append))
            await until(lambda: has_noted(directory, "whether the container runs"), 90)
            assert not launching.done(), "its slots were given away while it ran"
        with pytest.raises(LaunchFailed, match="did not answer POST") as caught:
            await asyncio.wait_for(launching, 60)
        assert caught.value.failure.type == "agent_error"
        assert docker.containers() == []


@pytest.fixture(scope="module")
def full() -> Iterator[Daemon]:
    """A daemon with little disk space."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"no Docker here: {reason}")
    try:
        with daemon(data_bytes=SMALL_BYTES) as made:
            yield made
    except CannotRun as error:
        pytest.skip(f"no Docker here: {error}")


class TestAFullDisk:
    async def test_pulls_and_starts_name_the_full_disk_and_work_again_with_space(
        self, full: Daemon, images: Registry, tmp_path: Path
    ) -> None:
        settings = Settings(
            master_host="m", agent_id="a", work_dir=str(tmp_path), docker_host=full.address
        )
        driver = RuntimeDriver(DockerRuntime(settings, tmp_path, launch_retry_s=0.0), tmp_path)
        what = spec("pass", image=images.image, network_mode="host")
        filler = full.root / "data/filler"

        fill(filler)
        with pytest.raises(LaunchFailed, match=r"could not be pulled.*no space left") as caught:
            await driver.launch(what)
        assert caught.value.failure.type == "agent_error"
        assert "the disk of Docker's data root is full: remove" in caught.value.failure.message

        filler.unlink()
        with pytest.raises(LaunchFailed, match="needs Python"):
            await driver.launch(what)

        fill(filler)
        with pytest.raises(LaunchFailed, match=r"could not be started.*no space left") as caught:
            await driver.launch(what)
        assert caught.value.failure.type == "agent_error"
        filler.unlink()
        for made in list_directories(tmp_path):
            await driver.runtime.remove(made.container_id)
        assert full.containers() == []


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024**2))
        except OSError:
            pass
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            return


class TestImages:
    async def test_the_error_for_a_wrong_password_names_user_and_option(
        self, driver: RuntimeDriver, images: Registry
    ) -> None:
        images.password = "sesame"
        auth = RegistryAuth("alice", "wrong-word", images.host)
        directory, start = driver.make(spec("pass", image=images.image, registry_auth=auth))
        with pytest.raises(LaunchFailed) as caught:
            await driver.runtime.launch(directory, start, driver.states.append)
        message = caught.value.failure.message
        assert caught.value.failure.type == "task_error"
        assert f"the image {images.image} could not be pulled" in message
        assert "environment.registry_auth" in message
        assert notes_of(directory)[0] == f"pulling image {images.image} as alice"
        assert "wrong-word" not in message + str(notes_of(directory))

    async def test_a_pull_can_be_canceled(
        self, driver: RuntimeDriver, docker: Daemon, images: Registry
    ) -> None:
        with images.holding():
            launching = await half_pulled(driver, images)
            launching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(launching, 60)
        assert docker.containers() == []
        await check_pulled(driver, images)


class TestMistakes:
    """Options that the machine cannot fulfill are task errors."""

    async def test_a_missing_device(self, driver: RuntimeDriver) -> None:
        with pytest.raises(LaunchFailed, match=r"/dev/none.*resources\.devices") as caught:
            await driver.launch(spec("pass", devices=("/dev/none:/dev/none:mrw",)))
        assert caught.value.failure.type == "task_error"

    async def test_an_unknown_capability(self, driver: RuntimeDriver) -> None:
        with pytest.raises(LaunchFailed, match=r"FLY.*environment\.add_capabilities") as caught:
            await driver.launch(spec("pass", add_capabilities=("FLY",)))
        assert caught.value.failure.type == "task_error"

    async def test_an_unknown_network(self, make: Make) -> None:
        driver = make()
        driver.defaults = {"image": driver.defaults["image"]}
        with pytest.raises(LaunchFailed, match=r"nowhere.*defaults\.network_mode") as caught:
            await driver.launch(spec("pass", network_mode="nowhere"))
        assert caught.value.failure.type == "task_error"

    async def test_an_invalid_image_name(self, driver: RuntimeDriver) -> None:
        with pytest.raises(LaunchFailed, match=r"environment\.image") as caught:
            await driver.launch(spec("pass", image="No Such/Name"))
        assert caught.value.failure.type == "task_error"


class TestMemory:
    async def test_a_task_killed_by_the_kernel_for_lack_of_memory_reports_so(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(
            spec(
                "print('ready', flush=True)",
                UNTIL_GO,
                "kept = [bytearray(b'x') * 2**20 for _ in range(600)]",
            )
        )
        await until(lambda: lines_of(directory) == ["ready"])
        [container] = docker.containers()
        limit = ("--memory", "32m", "--memory-swap", "32m")
        docker.run("update", *limit, container)
        docker.run("exec", container, "touch", "/tmp/go")
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.failure is not None
        assert (end.failure.type, end.exit_code) == ("container_failed", 137)
        assert "for lack of memory" in end.failure.message
