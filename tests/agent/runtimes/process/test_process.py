"""The process runtime: the contract of all runtimes, and its own features."""

from __future__ import annotations

import asyncio
import glob
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.agent_link import processes_with, spec, until
from tests.contracts.runtime_contract import RuntimeContract, RuntimeDriver, lines_of
from tests.covers import covers
from tests.open_directory import open_directory

from determined_agent.container.directory import Exit
from determined_agent.logs.spool_reader import Position, read_chunk
from determined_agent.runtimes.base import LaunchFailed
from determined_agent.runtimes.process.cgroups import GroupLimits, make_cgroups, remove_cgroup
from determined_agent.runtimes.process.runtime import ProcessRuntime
from determined_agent.settings.options import Settings
from determined_agent.shim.process_tree import descendants, kill_all
from determined_wire.agent_link import File, Mount, TaskUser

Make = Callable[..., RuntimeDriver]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    drivers: list[RuntimeDriver] = []

    def build(**overrides: Any) -> RuntimeDriver:
        values: dict[str, Any] = {
            "master_host": "master",
            "master_port": 8080,
            "agent_id": "agent-1",
            "work_dir": str(tmp_path),
        }
        root = tmp_path / "agent-1"
        root.mkdir(mode=0o700, exist_ok=True)
        drivers.append(RuntimeDriver(ProcessRuntime(Settings(**(values | overrides)), root), root))
        return drivers[-1]

    yield build
    for driver in drivers:
        await driver.clean_up()


class TestProcessRuntime(RuntimeContract):
    pass


@pytest.mark.slow
class TestTheMachineItRunsOn:
    async def test_it_inherits_only_path_and_home(
        self, driver: RuntimeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("A_SECRET_OF_THE_AGENT", "x")
        monkeypatch.setenv("HOME", "/somewhere")
        _, lines = await driver.run("import os", "print(*sorted(os.environ))")
        names = set(lines[0].split()) - {"LC_CTYPE"}  # which Python itself sets
        assert {n for n in names if not n.startswith("DET_")} == {
            "CUDA_VISIBLE_DEVICES",
            "HOME",
            "PATH",
            "PYTHONPATH",
            "PYTHONUNBUFFERED",
            "ROCR_VISIBLE_DEVICES",
        }

    async def test_python3_is_the_agents(self, driver: RuntimeDriver) -> None:
        _, lines = await driver.run("import sys", "print(sys.prefix)")
        assert lines == [sys.prefix]

    async def test_only_the_harness_and_its_dependencies_come_first(
        self, driver: RuntimeDriver
    ) -> None:
        _, lines = await driver.run(
            "import os, sys",
            "print(sys.path[1] == os.environ['PYTHONPATH'].split(':')[0])",
            "print(*sorted(os.listdir(sys.path[1])))",
            "import determined, urllib3, ruamel.yaml",
            "print(os.path.dirname(os.path.dirname(determined.__file__)) == sys.path[1])",
        )
        assert lines == ["True", "determined ruamel storage-client urllib3", "True"]

    async def test_files_and_paths_of_the_container_are_in_its_directory(
        self, driver: RuntimeDriver
    ) -> None:
        script = b"#!/bin/sh\necho $DET_RUN_DIR $1; cat $DET_RUN_DIR/secret\n"
        directory, handle = await driver.launch(
            spec(
                entrypoint=("/run/determined/train/entrypoint.sh", "/run/other"),
                files=(
                    File("/run/determined/train/entrypoint.sh", script, 0o744),
                    File("/run/determined/secret", b"inside\n", 0o600),
                ),
            )
        )
        end = await asyncio.wait_for(handle.wait(), 60)
        assert lines_of(directory, end) == [f"{directory.run_dir} /run/other", "inside"]
        assert (directory.run_dir / "secret").stat().st_mode & 0o777 == 0o600
        assert directory.path.stat().st_mode & 0o777 == 0o700

    async def test_a_file_that_would_leave_its_directory_is_refused(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        file = File("/run/determined/../../../out", b"x")
        with pytest.raises(LaunchFailed, match="outside of its directory"):
            await driver.launch(spec("pass", files=(file,)))
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("if_missing", ["create", ""], ids=["create", "an older master"])
    async def test_the_shared_file_system_is_its_host_path(
        self, driver: RuntimeDriver, tmp_path: Path, if_missing: Literal["create", ""]
    ) -> None:
        path = str(tmp_path / "new" / "storage")
        mount = Mount(path, "/determined_shared_fs", if_missing=if_missing)
        _, lines = await driver.run(
            "import os",
            "path = os.environ['DET_SHARED_FS_PATH']",
            "print(path, os.path.isdir(path))",
            mounts=(mount,),
        )
        assert lines == [f"{mount.host_path} True"]

    async def test_a_missing_storage_fails_the_task_and_is_not_created(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        path = tmp_path / "mistyped"
        for place in ("/determined_shared_fs", "/determined_shared_fs_1"):
            mount = Mount(str(path), place, if_missing="fail")
            with pytest.raises(LaunchFailed, match=f"host_path {path} is not a") as caught:
                await driver.launch(spec("pass", mounts=(mount,)))
            assert caught.value.failure.type == "task_error"
            assert "set checkpoint_storage.create to true" in caught.value.failure.message
        assert not path.exists()

    async def test_a_file_is_no_storage(self, driver: RuntimeDriver, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        mount = Mount(str(tmp_path / "file"), "/determined_shared_fs", if_missing="fail")
        with pytest.raises(LaunchFailed, match="is not a directory of this agent"):
            await driver.launch(spec("pass", mounts=(mount,)))

    async def test_a_task_that_may_go_without_its_storage_runs_without_it(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        mount = Mount(str(tmp_path / "gone"), "/determined_shared_fs", if_missing="skip")
        _, lines = await driver.run(
            "import os", "print(os.environ.get('DET_SHARED_FS_PATH'))", mounts=(mount,)
        )
        assert lines == ["None"]
        assert not (tmp_path / "gone").exists()

    @covers("agent-config 5.logs")
    async def test_ignored_options_are_noted_once_in_the_log(self, driver: RuntimeDriver) -> None:
        directory, handle = await driver.launch(
            spec("pass", image="an-image:1", add_capabilities=("NET_ADMIN",), shm_size_bytes=9)
        )
        await asyncio.wait_for(handle.wait(), 60)
        chunk, _ = read_chunk(directory.output, Position())
        assert [(s.count, s.source) for s in chunk.spans] == [(1, "agent")]
        for name in ("environment.image (an-image:1)", "add_capabilities", "resources.shm_size"):
            assert name in chunk.text

    @pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
    async def test_as_root_it_switches_to_the_tasks_user(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        user = TaskUser("someone", 54321, "some", 54322)
        directory, start = driver.make(
            spec(
                entrypoint=("/bin/sh", "-c", "id -u; id -g; id -G; pwd; touch mine; cat ../given"),
                environment={"DET_PYTHON_EXECUTABLE": "/bin/true"},
                user=user,
                files=(File("/run/determined/given", b"given\n", 0o600),),
            )
        )
        for path in (directory.path, *directory.path.parents):
            if path.is_relative_to(tmp_path):
                path.chmod(path.stat().st_mode | 0o011)
        handle = await driver.runtime.launch(directory, start, driver.states.append)
        driver.handles.append(handle)
        end = await asyncio.wait_for(handle.wait(), 60)
        work_dir = directory.run_dir / "workdir"
        assert lines_of(directory, end) == [
            "54321",
            "54322",
            "54322",
            str(work_dir),
            "given",
        ]
        assert (work_dir / "mine").stat().st_uid == 54321
        assert (directory.path / "container.json").stat().st_uid == 0


@pytest.mark.slow
@pytest.mark.kill
class TestWhatGoesWrong:
    async def test_killing_a_shim_kills_its_task(self, driver: RuntimeDriver) -> None:
        directory, handle = await driver.launch(
            spec(
                "import os, time",
                "if os.fork() == 0: os.setsid()",
                "os.write(1, b'ready\\n')",
                "time.sleep(600)",
            )
        )
        await until(lambda: lines_of(directory) == ["ready", "ready"])
        shim = directory.shim_pid()
        assert shim is not None
        os.kill(shim, signal.SIGKILL)
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code is None
        assert end.failure is not None
        assert end.failure.type == "restore_error"
        assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []

    async def test_the_end_is_reported_when_all_processes_have_ended(
        self, driver: RuntimeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A killed process runs until it is scheduled, on a busy machine for a while."""
        tries = 0

        def kill_late(find: Callable[[], list[int]]) -> None:
            nonlocal tries
            tries += 1
            if tries > 5:
                kill_all(find)

        monkeypatch.setattr("determined_agent.runtimes.process.shim_process.kill_all", kill_late)
        directory, handle = await driver.launch(
            spec("import os, time", "os.fork()", "os.write(1, b'ready\\n')", "time.sleep(600)")
        )
        await until(lambda: lines_of(directory) == ["ready", "ready"])
        shim = directory.shim_pid()
        assert shim is not None
        os.kill(shim, signal.SIGKILL)
        await until(lambda: tries > 0)
        handle.signal(9)
        end = await asyncio.wait_for(handle.wait(), 60)
        assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []
        assert end.exit_code == 137, "it was to be killed anyway"

    async def test_killing_a_shim_kills_detached_processes_too(
        self, driver: RuntimeDriver
    ) -> None:
        """A daemon in a session of its own, with no parent and nothing in its environment."""
        if not make_cgroups("try", GroupLimits(pids=1)):
            pytest.skip("no cgroup can be made here, by which such a process could be found")
        remove_cgroup("try")
        mark = f"LEFT_BEHIND_BY={os.getpid()}"
        daemon = f"os.execve('/bin/sleep', ['sleep', '600'], dict(['{mark}'.split('=')]))"
        directory, handle = await driver.launch(
            spec(
                "import os, time",
                "if os.fork() == 0:",
                "    os.setsid()",
                f"    {daemon}",
                "os.write(1, b'ready\\n')",
                "time.sleep(600)",
            )
        )
        await until(lambda: lines_of(directory) == ["ready"] and processes_with(mark))
        shim = directory.shim_pid()
        assert shim is not None
        os.kill(shim, signal.SIGKILL)
        await asyncio.wait_for(handle.wait(), 60)
        assert processes_with(mark) == []

    async def test_a_stopped_shim_is_killed_directly(
        self, driver: RuntimeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("determined_agent.runtimes.process.shim_process._KILL_TIMEOUT_S", 0.2)
        directory, handle = await driver.launch(
            spec("import time", "print('ready')", "time.sleep(600)")
        )
        await until(lambda: lines_of(directory) == ["ready"])
        shim = directory.shim_pid()
        assert shim is not None
        os.kill(shim, signal.SIGSTOP)
        handle.signal(9)
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 137
        assert descendants(shim) == []
        assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []

    async def test_a_too_large_environment_is_a_task_error(self, driver: RuntimeDriver) -> None:
        with pytest.raises(LaunchFailed) as caught:
            await driver.launch(spec("pass", environment={"HUGE": "x" * 200_000}))
        assert caught.value.failure.type == "task_error"
        assert "the kernel allows 128 KiB a variable" in caught.value.failure.message

    async def test_a_nul_in_the_environment_is_a_task_error(self, driver: RuntimeDriver) -> None:
        with pytest.raises(LaunchFailed, match="a NUL in an argument") as caught:
            await driver.launch(spec("pass", environment={"A": "b\0c"}))
        assert caught.value.failure.type == "task_error"

    async def test_the_error_names_a_work_dir_that_cannot_be_created(
        self, driver: RuntimeDriver
    ) -> None:
        with pytest.raises(LaunchFailed, match="/proc/nowhere"):
            await driver.launch(spec("pass", work_dir="/proc/nowhere"))

    async def test_output_beyond_the_limit_is_dropped_and_counted(self, make: Make) -> None:
        driver = make(log_spool_bytes=10**6)
        end, lines = await driver.run(
            "import os", "for _ in range(3000): os.write(1, b'x' * 999 + b'\\n')"
        )
        assert end.exit_code == 0
        kept = [line for line in lines if line == "x" * 999]
        assert 900 < len(kept) < 1400
        assert lines[-1].startswith(f"{3000 - len(kept)} lines of output were dropped")

    async def test_many_forked_children_are_all_killed(self, driver: RuntimeDriver) -> None:
        directory, handle = await driver.launch(
            spec(
                "import os, time",
                "for i in range(12):",
                "    if os.fork() == 0: os.setsid()",
                "    else: break",
                "os.write(1, b'up\\n')",
                "time.sleep(600 if i else 0.5)",
            )
        )
        end = await asyncio.wait_for(handle.wait(), 60)
        assert isinstance(end, Exit)
        assert end.exit_code == 0
        assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []

    async def test_a_task_has_no_more_processes_than_its_limit(self, make: Make) -> None:
        limit = 30
        if os.getuid() != 0:  # without a cgroup all processes of the user count
            limit += sum(1 for _ in glob.iglob("/proc/[0-9]*/task/[0-9]*"))
        driver = make(container_pids_limit=limit)
        directory, start = driver.make(
            spec(
                "import os, time",
                "made = 0",
                "try:",
                f"    while made < {limit + 50}:",
                "        if os.fork() == 0: time.sleep(600)",
                "        made += 1",
                "except OSError as error: print(made, error)",
            )
        )
        groups = make_cgroups(directory.container_id, GroupLimits(pids=limit))
        group = "".join(groups)
        if os.getuid() == 0 and not group:
            pytest.skip("no cgroup can be made here, and nothing else bounds root's processes")
        handle = await driver.runtime.launch(directory, start, driver.states.append)
        driver.handles.append(handle)
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 0
        [line] = lines_of(directory, end)
        assert "Resource temporarily unavailable" in line
        assert int(line.split()[0]) < limit
        assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []
        await driver.runtime.remove(directory.container_id)
        assert make_cgroups(directory.container_id, GroupLimits()) == []
        assert group not in glob.glob(f"{os.path.dirname(group)}/determined-*")
