"""Finding 10: a task reads the temporary files and the command lines of another account's task."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import processes_with, spec, until
from tests.contracts.runtime_contract import RuntimeDriver, lines_of
from tests.open_directory import open_directory

from determined_agent.container.directory import ContainerDirectory, Exit
from determined_agent.runtimes.base import Handle, LaunchFailed
from determined_agent.runtimes.process import isolation
from determined_agent.runtimes.process.accounts import TaskAccounts
from determined_agent.runtimes.process.runtime import ProcessRuntime
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Mount, TaskUser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user"),
]
ANN, BOB = TaskUser("ann", 54321, "ann", 54321), TaskUser("bob", 54322, "bob", 54322)
Make = Callable[..., RuntimeDriver]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest.fixture
async def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    # Others may not read the tests' own Python; what runs here needs none.
    monkeypatch.setattr(TaskAccounts, "find_problem", lambda *given: "")
    drivers: list[RuntimeDriver] = []

    def build(**overrides: Any) -> RuntimeDriver:
        values = {"master_host": "m", "agent_id": "agent-1", "work_dir": str(tmp_path)}
        root = tmp_path / "agent-1"
        root.mkdir(mode=0o711, exist_ok=True)
        drivers.append(RuntimeDriver(ProcessRuntime(Settings(**values | overrides), root), root))
        return drivers[-1]

    yield build
    for driver in drivers:
        await driver.clean_up()


@pytest.fixture
def driver(make: Make) -> RuntimeDriver:
    return make()


def remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


async def launched(
    driver: RuntimeDriver, script: str, user: TaskUser = ANN, **more: Any
) -> tuple[ContainerDirectory, Handle]:
    what = spec(entrypoint=("/bin/sh", "-c", script), user=user, **more)
    directory, start = driver.make(what)
    directory.path.chmod(0o711)
    handle = await driver.runtime.launch(directory, start, driver.states.append)
    driver.handles.append(handle)
    return directory, handle


async def ended(driver: RuntimeDriver, script: str, user: TaskUser = ANN, **more: Any) -> Any:
    directory, handle = await launched(driver, script, user, **more)
    end = await asyncio.wait_for(handle.wait(), 60)
    return end, lines_of(directory, end)


async def test_a_task_sees_no_temporary_file_of_another(driver: RuntimeDriver) -> None:
    name = f"det-attack-{os.getpid()}"
    for place in ("/tmp", "/var/tmp"):
        path = f"{place}/{name}"
        try:
            first, _ = await launched(driver, f"echo mine > {path}; cat {path}; sleep 600")
            await until(lambda d=first: lines_of(d) == ["mine"])
            _, lines = await ended(driver, f"cat {path} || echo none; ls {place}", BOB)
            assert "mine" not in lines
            assert name not in lines
            assert name not in os.listdir(place)
        finally:
            remove(path)


async def test_a_task_sees_no_process_of_another(driver: RuntimeDriver) -> None:
    directory, handle = await launched(driver, "echo up; sleep 600.25; true")
    await until(lambda: lines_of(directory) == ["up"])
    _, lines = await ended(driver, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; echo $$", BOB)
    assert "600.25" not in " ".join(lines)
    assert int(lines[-1]) < 10, "it has process ids of its own"
    handle.signal(9)


async def test_its_own_directories_and_mounts_below_tmp_are_there(
    driver: RuntimeDriver, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    shared.chmod(0o777)
    script = f"pwd; id -u; echo there > {shared}/x; touch /tmp/y; ls /tmp | tr '\\n' ' '"
    mounts = (Mount(str(shared), "/determined_shared_fs"),)
    end, lines = await ended(driver, script, mounts=mounts)
    assert end.exit_code == 0
    assert lines[0].startswith(str(tmp_path)), "its work directory"
    assert lines[1] == "54321"
    assert (shared / "x").read_text() == "there\n"
    assert "y" in lines[2].split()
    assert "y" not in os.listdir("/tmp")
    whole = (Mount("/tmp", "/determined_shared_fs"),)
    _, lines = await ended(driver, f"cat {shared}/x", mounts=whole)
    assert lines == ["there"], "a mounted /tmp is that of the machine"


async def test_signals_and_exit_codes_are_those_of_the_task(driver: RuntimeDriver) -> None:
    end, _ = await ended(driver, "exit 77")
    assert end.exit_code == 77
    end, _ = await ended(driver, "kill -9 $$")
    assert end.exit_code == 137
    directory, handle = await launched(
        driver, "trap 'echo bye; exit 5' TERM; echo up; sleep 600 & wait"
    )
    await until(lambda: lines_of(directory) == ["up"])
    handle.signal(signal.SIGTERM)
    end = await asyncio.wait_for(handle.wait(), 60)
    assert end.exit_code == 5
    assert lines_of(directory, end) == ["up", "bye"]
    directory, handle = await launched(driver, "echo up; exec sleep 600")
    await until(lambda: lines_of(directory) == ["up"])
    handle.signal(signal.SIGTERM)
    end = await asyncio.wait_for(handle.wait(), 60)
    assert end.exit_code == 143, "a program without a handler ends too"


async def test_nothing_of_it_survives_its_end_or_the_end_of_its_shim(
    driver: RuntimeDriver,
) -> None:
    left = "setsid sleep 600 & setsid sh -c 'setsid sleep 600 & sleep 600' & echo up"
    directory, handle = await launched(driver, left)
    await asyncio.wait_for(handle.wait(), 60)
    marker = f"DET_CONTAINER_ID={directory.container_id}"
    assert processes_with(marker) == []
    directory, handle = await launched(driver, f"{left}; sleep 600")
    await until(lambda: lines_of(directory) == ["up"])
    shim = directory.shim_pid()
    assert shim is not None
    os.kill(shim, signal.SIGKILL)
    end = await asyncio.wait_for(handle.wait(), 60)
    assert end.failure is not None
    assert processes_with(f"DET_CONTAINER_ID={directory.container_id}") == []


async def test_a_restarted_agent_finds_it_again(driver: RuntimeDriver) -> None:
    script = "echo up; while [ ! -e go ]; do sleep 0.05; done; echo on; exit 3"
    directory, handle = await launched(driver, script)
    await until(lambda: lines_of(directory) == ["up"])
    handle.detach()
    driver.handles.remove(handle)
    record = directory.record()
    assert record is not None
    again = await driver.runtime.attach(directory, record)
    assert not isinstance(again, Exit)
    driver.handles.append(again)
    (directory.run_dir / "workdir" / "go").touch()
    end = await asyncio.wait_for(again.wait(), 60)
    assert end.exit_code == 3
    assert lines_of(directory, end) == ["up", "on"]


async def test_a_program_that_is_not_there_is_named(driver: RuntimeDriver) -> None:
    what = spec(entrypoint=("nowhere",), user=ANN)
    directory, start = driver.make(what)
    directory.path.chmod(0o711)
    with pytest.raises(LaunchFailed, match="cannot run 'nowhere'") as caught:
        await driver.runtime.launch(directory, start, driver.states.append)
    assert caught.value.failure.type == "task_error"


async def test_an_admin_can_switch_it_off(make: Make) -> None:
    path = f"/tmp/det-shared-{os.getpid()}"
    try:
        await ended(make(process_isolation=False), f"echo mine > {path}")
        assert os.path.getsize(path) == 5  # noqa: ASYNC240  a small file
    finally:
        remove(path)


async def test_a_mount_opens_no_directory_that_its_account_cannot_reach(
    driver: RuntimeDriver, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    (closed / "open").mkdir(parents=True)
    (closed / "open").chmod(0o777)
    (closed / "open" / "file").write_text("secret\n")
    closed.chmod(0o700)
    link = tmp_path / "link"
    link.symlink_to(closed / "open")
    mounts = tuple(Mount(str(path), "/m") for path in (closed / "open", link))
    script = f"exec 2>&1; cat {closed}/open/file {link}/file; echo done"
    _, lines = await ended(driver, script, mounts=mounts)
    assert lines[-1] == "done"
    assert "secret" not in lines


async def test_an_agent_that_cannot_isolate_says_so_once_and_runs_the_task(
    driver: RuntimeDriver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(isolation, "_PROBE", "print('Operation not permitted')")
    for _ in range(2):
        end, lines = await ended(driver, "echo $$")
        assert end.exit_code == 0
        assert int(lines[-1]) > 10
    assert caplog.text.count("the kernel refuses namespaces (Operation not permitted)") == 1
