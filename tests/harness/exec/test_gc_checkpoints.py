"""Collecting checkpoints as a task does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.covers import covers
from tests.harness.conftest import Task
from tests.harness.master_double import MasterDouble

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def collect(task: Task, uuids: list[str], globs: list[str], *more: str) -> subprocess.Popen[str]:
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
    p = task.start([*command, "--delete", "delete.json", "--globs", "globs.json", *more])
    p.err = p.communicate(timeout=60)[1]  # type: ignore[attr-defined]  # for the asserts
    return p


def test_files_go_and_the_master_hears_what_is_left(task: Task, master: MasterDouble) -> None:
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
    assert "leads out of the checkpoint" in p.err  # type: ignore[attr-defined]  # see above


def test_what_was_deleted_is_told_also_when_another_could_not_be(
    task: Task, master: MasterDouble
) -> None:
    for name in ("one", "two"):
        (task.storage / name).mkdir()
        (task.storage / name / "weights").write_text("123")
    p = collect(task, ["one", "no/uuid", "two"], ["**/*"])
    assert p.returncode == 1
    assert "could not be deleted: no/uuid: " in p.err  # type: ignore[attr-defined]  # see above
    (call,) = master.named("PATCH", "/api/v1/checkpoints")
    assert sorted(item["uuid"] for item in call.body["checkpoints"]) == ["one", "two"]
    assert list(task.storage.iterdir()) == []
