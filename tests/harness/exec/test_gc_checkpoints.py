"""The garbage collection task."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

import pytest
from tests.covers import covers
from tests.harness.conftest import Task
from tests.harness.master_double import Call, MasterDouble

from determined.common.storage import CheckpointStorageError, DirectoryStorageManager
from determined.exec.gc_checkpoints import delete_files

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def collect(
    task: Task, uuids: list[str], globs: list[str], *more: str
) -> subprocess.CompletedProcess[str]:
    p = begin(task, uuids, globs, *more)
    out, err = p.communicate(timeout=60)
    return subprocess.CompletedProcess(p.args, p.returncode, out, err)


def begin(task: Task, uuids: list[str], globs: list[str], *more: str) -> subprocess.Popen[str]:
    inputs = {
        "storage.json": {"type": "shared_fs", "host_path": "/ignored"},
        "delete.json": uuids,
        "globs.json": globs,
    }
    for name, content in inputs.items():
        (task.root / name).write_text(json.dumps(content))
    task.env["DET_TASK_TYPE"] = "CHECKPOINT_GC"
    command = [sys.executable, "-S", "-m", "determined.exec.gc_checkpoints"]
    command += ["--experiment-id", "2", "--storage-config", "storage.json"]
    return task.start([*command, "--delete", "delete.json", "--globs", "globs.json", *more])


def stored(task: Task, *names: str) -> None:
    """Checkpoints as the harness stores them: files, then their manifest."""
    manager = DirectoryStorageManager(task.storage)
    for name in names:
        with manager.store_path(name) as path:
            (path / "weights").write_text("123")
            (path / "metadata.json").write_text("{}")


def test_files_are_deleted_and_the_rest_is_reported(task: Task, master: MasterDouble) -> None:
    for name in ("one", "two"):
        (task.storage / name).mkdir()
        (task.storage / name / "weights").write_text("123")
        (task.storage / name / "metadata.json").write_text("{}")
    p = collect(task, ["one", "two", "gone"], ["**/weights"])
    assert p.returncode == 0
    (call,) = master.named("PATCH", "/api/v1/checkpoints")
    left = {"resources": {"metadata.json": "2"}}
    assert sorted(call.body["checkpoints"], key=lambda item: item["uuid"]) == [
        {"uuid": "one", "resources": left},
        {"uuid": "two", "resources": left},
    ]
    assert collect(task, ["one"], ["**/*"]).returncode == 0
    assert not (task.storage / "one").exists()


@covers("experiment-config 14.layout")
def test_tensorboard_files_go_when_asked(task: Task, master: MasterDouble) -> None:
    below = task.storage / "cluster" / "tensorboard" / "experiment"
    for experiment in ("2", "3"):
        (below / experiment / "trial").mkdir(parents=True)
    assert collect(task, [], [], "--delete-tensorboards").returncode == 0
    assert [p.name for p in below.iterdir()] == ["3"]
    assert master.calls == []


def test_a_pattern_that_leads_out_is_refused(task: Task) -> None:
    p = collect(task, ["one"], ["../*"])
    assert p.returncode == 1
    assert "leads out of the checkpoint" in p.stderr


def test_a_deletion_is_reported_even_if_another_one_fails(
    task: Task, master: MasterDouble
) -> None:
    for name in ("one", "two"):
        (task.storage / name).mkdir()
        (task.storage / name / "weights").write_text("123")
    p = collect(task, ["one", "no/uuid", "two"], ["**/*"])
    assert p.returncode == 1
    assert "could not be deleted: no/uuid: " in p.stderr
    (call,) = master.named("PATCH", "/api/v1/checkpoints")
    assert sorted(item["uuid"] for item in call.body["checkpoints"]) == ["one", "two"]
    assert list(task.storage.iterdir()) == []


def told(master: MasterDouble) -> list[dict[str, object]]:
    """What is left by checkpoint, call by call."""
    return [
        {c["uuid"]: c["resources"]["resources"] for c in call.body["checkpoints"]}
        for call in master.named("PATCH", "/api/v1/checkpoints")
    ]


@pytest.mark.parametrize("has_manifest", [True, False], ids=["of this harness", "of an older one"])
def test_the_next_task_reports_deletions_of_a_killed_one(
    task: Task, master: MasterDouble, has_manifest: bool
) -> None:
    """The files are gone, the master was not told: nobody else will ever tell it."""
    stored(task, "one", "two")
    if not has_manifest:
        for name in ("one", "two"):
            (task.storage / f"{name}.manifest.json").unlink()
    running: list[subprocess.Popen[str]] = []

    def kill(_: Call) -> tuple[int, dict[str, str]]:
        running[0].kill()
        return 503, {"error": "too late"}

    master.on("PATCH", "/api/v1/checkpoints$", kill)
    running.append(begin(task, ["one", "two", "gone"], ["**/*"]))
    running[0].communicate(timeout=60)
    assert running[0].returncode == -9
    assert not (task.storage / "one").exists()
    assert not (task.storage / "two").exists()

    master.on("PATCH", "/api/v1/checkpoints$", (200, {}))
    p = collect(task, ["one", "two", "gone"], ["**/*"])
    assert p.returncode == 0, p.stderr
    assert told(master) == [{"one": {}, "two": {}}] * 2
    assert list(task.storage.iterdir()) == []


class Failing(DirectoryStorageManager):
    """Fails once the first file is gone, as a file system does that goes away."""

    def clear(self, tgt: str, globs: Sequence[str]) -> dict[str, int]:
        os.unlink(os.path.join(self.base_path, tgt, "weights"))
        raise CheckpointStorageError(errno.EIO, "it went away")


def test_the_rest_of_a_partial_deletion_is_reported(tmp_path: pathlib.Path) -> None:
    """A row that says more than there is would be resumed from."""
    manager = Failing(tmp_path)
    with manager.store_path("one") as path:
        (path / "weights").write_text("123")
        (path / "metadata.json").write_text("{}")
    assert delete_files(manager, ["one"], ["**/*"]) == (
        {"one": {"metadata.json": 2}},
        ["one: it went away"],
    )
