"""Finding N3: tasks run as root, because their account cannot run the program's Python."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agent_link import spec
from tests.contracts.runtime_contract import RuntimeDriver

from determined_agent.container.environment import HostEnvironment
from determined_agent.runtimes.base import LaunchFailed
from determined_agent.runtimes.process.accounts import TaskAccounts
from determined_agent.runtimes.process.runtime import ProcessRuntime
from determined_agent.settings.options import Settings
from determined_deploy.local import task_account
from determined_wire.agent_link import TaskUser

pytestmark = pytest.mark.slow
ROOT_ALONE = pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
ANN = TaskUser("ann", 54321, "ann", 54321)


@pytest.fixture
def hidden_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python in a directory that only root can enter, as below root's home."""
    path = tmp_path / "home" / "bin" / "python3"
    path.parent.mkdir(parents=True)
    path.parents[1].chmod(0o700)
    path.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(path))
    return path


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[RuntimeDriver]:
    root = tmp_path / "agent-1"
    root.mkdir(mode=0o711)
    settings = Settings(master_host="m", agent_id="agent-1", work_dir=str(tmp_path))
    made = RuntimeDriver(ProcessRuntime(settings, root), root)
    yield made
    await made.clean_up()


@ROOT_ALONE
async def test_a_task_fails_with_the_remedy_if_its_account_cannot_run_the_python(
    hidden_python: Path, driver: RuntimeDriver
) -> None:
    with pytest.raises(LaunchFailed) as failed:
        await driver.launch(spec(entrypoint=("python3", "-c", "pass"), user=ANN))
    failure = failed.value.failure
    assert failure.type == "task_error"
    assert f"the account ann (uid 54321) cannot run the agent's Python {hidden_python}" in (
        failure.message
    )
    assert "install Determined where all accounts can read it" in failure.message


async def test_an_account_that_can_run_it_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    class Done:
        returncode = 0
        stderr = b""

    def run(*words: object, **options: object) -> Done:
        asked.append(options["user"])
        return Done()

    monkeypatch.setattr("determined_agent.runtimes.process.accounts.subprocess.run", run)
    accounts = TaskAccounts()
    host = HostEnvironment(python="p", path="", home="/", pythonpath="")
    for _ in range(2):
        assert accounts.find_problem(ANN, host) == ""
    assert asked == [54321]


@ROOT_ALONE
def test_the_account_of_a_new_cluster_is_never_root_unless_it_is_named(
    hidden_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Found:
        pw_uid, pw_gid = 54321, 0

    monkeypatch.setattr(task_account, "_find", lambda name: Found)
    account = task_account.choose(None)
    assert account is not None
    assert account.uid == 54321
    assert str(hidden_python) in account.problem
