"""A real daemon that is killed or restarted: tasks keep running, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.agent.runtimes.docker.steps import (
    SLEEP,
    UNTIL_GO,
    again,
    check_kept,
    check_pulled,
    counting,
    half_pulled,
    has_noted,
    inside,
    let_go,
    notes_of,
    pid_of,
    said_by_itself,
)
from tests.agent_link import spec, until
from tests.contracts.runtime_contract import RuntimeDriver, lines_of
from tests.docker_daemon import Daemon
from tests.registry import Registry

from determined_agent.container.directory import Exit
from determined_agent.runtimes.base import LaunchFailed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.kill,
    pytest.mark.xdist_group("docker"),
]


class TestADaemonThatDies:
    async def test_the_task_keeps_running_and_its_output_and_end_are_complete(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(counting(0.005))
        await until(lambda: len(lines_of(directory)) > 20)
        tmp = inside(docker)
        docker.kill()
        docker.start()
        (tmp / "go").touch()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 0
        check_kept(said_by_itself(directory, end), docker)
        assert "it runs" in notes_of(directory)[0]

    async def test_output_before_an_end_without_the_daemon_is_kept(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(
            spec(
                *("import sys", "print('first', flush=True)", UNTIL_GO),
                "for i in range(3000): print(i, 'x' * 40)",
                *("print('worse', file=sys.stderr)", "print('last', end='')"),
            )
        )
        await until(lambda: lines_of(directory) == ["first"])
        pid, tmp = pid_of(docker), inside(docker)
        docker.kill()
        (tmp / "go").touch()
        await until(lambda: not Path(f"/proc/{pid}").exists())
        docker.start()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert (end.exit_code, end.failure) == (0, None)
        lines = said_by_itself(directory, end)
        assert lines.count("worse") == 1
        lines.remove("worse")
        assert lines == ["first", *(f"{i} {'x' * 40}" for i in range(3000)), "last"]
        assert not has_noted(directory, "may be missing")

    async def test_output_during_the_outage_is_read_completely(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(
            spec(
                *("import os, time", "print('first', flush=True)"),
                "while not os.path.exists('/tmp/away'): time.sleep(0.01)",
                "for i in range(5000): print(i, 'x' * 90, flush=True)",
                "open('/tmp/written', 'w').close()",
                *(UNTIL_GO, "print('last')"),
            )
        )
        await until(lambda: lines_of(directory) == ["first"])
        tmp = inside(docker)
        docker.kill()
        (tmp / "away").touch()
        await until((tmp / "written").exists)
        docker.start()
        (tmp / "go").touch()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert (end.exit_code, end.failure) == (0, None)
        wanted = ["first", *(f"{i} {'x' * 90}" for i in range(5000)), "last"]
        assert said_by_itself(directory, end) == wanted

    async def test_a_restart_of_the_daemon_loses_no_line_of_its_log(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(counting(0.005))
        await until(lambda: len(lines_of(directory)) > 20)
        tmp = inside(docker)
        docker.restart()
        (tmp / "go").touch()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 0
        check_kept(said_by_itself(directory, end), docker)

    async def test_a_container_that_ended_with_the_daemon_is_a_restore_error(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(spec(*SLEEP))
        await until(lambda: lines_of(directory) == ["ready"])
        pid = pid_of(docker)
        docker.kill()
        os.kill(pid, signal.SIGKILL)
        docker.start()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.failure is not None
        assert end.failure.type == "restore_error"
        assert "while Docker's daemon was down: set live-restore" in end.failure.message

    async def test_a_container_unknown_to_the_daemon_is_a_restore_error(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(spec(*SLEEP))
        await until(lambda: lines_of(directory) == ["ready"])
        [container], pid = docker.containers(), pid_of(docker)
        docker.kill()
        os.kill(pid, signal.SIGKILL)
        shutil.rmtree(docker.root / "data/containers" / container)
        docker.start()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.failure is not None
        assert end.failure.type == "restore_error"
        assert "the container is gone" in end.failure.message

    async def test_an_end_while_agent_and_daemon_are_down_is_found(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(
            spec("print('first', flush=True)", UNTIL_GO, "print('last')")
        )
        await until(lambda: lines_of(directory) == ["first"])
        let_go(driver, handle)
        pid, tmp = pid_of(docker), inside(docker)
        docker.kill()
        (tmp / "go").touch()
        await until(lambda: not Path(f"/proc/{pid}").exists())
        docker.start()
        end = await again(driver, directory)
        assert isinstance(end, Exit)
        assert end.exit_code == 0
        assert lines_of(directory, end)[0] == "first"  # no process has the pipes open meanwhile

    async def test_an_interrupted_pull_is_reported_and_the_next_one_works(
        self, driver: RuntimeDriver, docker: Daemon, images: Registry
    ) -> None:
        with images.holding():
            launching = await half_pulled(driver, images)
            docker.kill()
            with pytest.raises(LaunchFailed, match="could not be pulled") as caught:
                await asyncio.wait_for(launching, 60)
        docker.start()
        assert caught.value.failure.type == "agent_error"
        assert images.image in caught.value.failure.message
        assert docker.address in caught.value.failure.message
        await check_pulled(driver, images)
