"""The memory limit of a task, where the kernel has cgroups for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contracts.runtime_contract import RuntimeDriver

from determined_agent.runtimes.process.cgroups import (
    GroupLimits,
    cgroup_members,
    make_cgroups,
    read_out_of_memory,
    remove_cgroup,
)
from determined_agent.runtimes.process.runtime import ProcessRuntime
from determined_agent.settings.options import Settings
from determined_wire.agent_link import OutOfMemory

LIMIT = 256 * 1024 * 1024


def driver_of(tmp_path: Path) -> RuntimeDriver:
    root = tmp_path / "agent-1"
    root.mkdir(mode=0o700)
    settings = Settings(
        master_host="m", agent_id="a", work_dir=str(tmp_path), container_memory_limit=LIMIT
    )
    return RuntimeDriver(ProcessRuntime(settings, root), root)


@pytest.mark.slow
async def test_a_task_that_takes_more_memory_is_killed(tmp_path: Path) -> None:
    can_limit = make_cgroups("try", GroupLimits(memory=LIMIT))
    remove_cgroup("try")
    if not can_limit:
        pytest.skip("no cgroup for memory can be made here")
    driver = driver_of(tmp_path)
    try:
        end, lines = await driver.run(
            "x = bytearray(b'x' * 16 * 2**20)",
            "print('some', flush=True)",
            "y = bytearray(b'x' * 1024 * 2**20)",
            "print('all', flush=True)",
        )
        assert lines == ["some"]
        assert end.exit_code == 137
        assert end.failure is not None
        assert end.failure.out_of_memory is not None
        told = end.failure.out_of_memory
        assert told.limit_bytes == LIMIT
        assert 0 <= told.peak_bytes <= LIMIT
    finally:
        await driver.clean_up()
    assert cgroup_members(driver.made[0]) == []


UNIFIED = {"memory.events": "oom 1\noom_kill 1\n", "memory.max": "256", "memory.peak": "250"}
OLDER = {
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "memory.limit_in_bytes": "256",
    "memory.max_usage_in_bytes": "250",
}


@pytest.mark.parametrize("files", [UNIFIED, OLDER], ids=["unified", "older"])
def test_only_the_cgroup_says_that_a_kill_was_for_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    monkeypatch.setattr(
        "determined_agent.runtimes.process.cgroups._parents", lambda name: iter([tmp_path])
    )
    assert read_out_of_memory("c") is None
    group = tmp_path / "determined-c"
    group.mkdir()
    for name, text in files.items():
        (group / name).write_text(text)
    assert read_out_of_memory("c") == OutOfMemory(limit_bytes=256, peak_bytes=250)
    for name, text in files.items():
        (group / name).write_text(text.replace("oom_kill 1", "oom_kill 0"))
    assert read_out_of_memory("c") is None


async def test_a_limit_that_cannot_be_set_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("determined_agent.runtimes.process.cgroups._hierarchies", list)
    driver = driver_of(tmp_path)
    try:
        for _ in range(2):
            end, _ = await driver.run("pass")
            assert end.exit_code == 0
    finally:
        await driver.clean_up()
    assert caplog.text.count("container_memory_limit has no effect") == 1
