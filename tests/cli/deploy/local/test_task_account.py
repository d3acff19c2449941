"""The account of tasks on a cluster that root starts."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from determined.cli import errors
from determined_deploy.local import configs, layout, task_account

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("useradd") is None,
    reason="only root can run tasks as another account",
)


@pytest.fixture
def name() -> Iterator[str]:
    """An account that is gone afterwards."""
    made = f"det-task-{os.getpid()}"
    yield made
    subprocess.run(["userdel", made], check=False, capture_output=True)


def test_only_root_chooses_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert task_account.choose(None) is None
    with pytest.raises(errors.CliError, match="only root"):
        task_account.choose("ann")


@needs_root
def test_a_missing_account_is_created_without_rights(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_account, "_problem", lambda *account: "")
    for _ in range(2):
        account = task_account.choose(name)
        assert account is not None
        found = pwd.getpwnam(name)
        assert (account.uid, account.gid) == (found.pw_uid, found.pw_gid)
        assert account.uid != 0
        assert found.pw_dir == "/nonexistent"


@needs_root
def test_tasks_do_not_run_as_root_if_the_account_cannot_run_this_python(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "bin" / "python3"
    hidden.parent.mkdir(mode=0o700)
    hidden.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(hidden))
    monkeypatch.setattr(task_account, "NAME", name)
    account = task_account.choose(None)
    assert account is not None
    assert account.uid == pwd.getpwnam(name).pw_uid
    assert str(hidden) in account.problem
    assert "install it where all accounts can read it" in account.problem
    with pytest.raises(errors.CliError, match="cannot run Determined"):
        task_account.choose(name)


@needs_root
def test_root_is_chosen_only_by_name() -> None:
    account = task_account.choose("root")
    assert account is not None
    assert account.uid == 0
    with pytest.raises(errors.CliError, match=r"cannot (run|be created)|no account"):
        task_account.choose("not an account")


def test_tasks_run_as_the_account_and_write_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: owners.append((uid, gid)))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    cluster = layout.ClusterLayout("c", tmp_path / "c")
    account = task_account.TaskAccount("ann", 1007, 1008, "lab")
    config = configs.of_master(cluster, configs.MasterOptions(account=account))
    wanted = {"user": "ann", "uid": 1007, "group": "lab", "gid": 1008}
    assert config["security"]["default_task"] == wanted
    assert owners == [(1007, 1008)]
    plain = configs.of_master(cluster, configs.MasterOptions())
    assert "default_task" not in plain["security"]


@needs_root
def test_whether_others_can_run_this_python_is_found_out_without_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "bin" / "python3"
    hidden.parent.mkdir(mode=0o700)
    hidden.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(hidden))
    assert task_account.others_cannot_run()
    monkeypatch.setattr(task_account, "_problem", lambda *account: "")
    assert not task_account.others_cannot_run()
