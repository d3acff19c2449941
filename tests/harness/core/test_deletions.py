"""A trial that deletes its own checkpoints, as a real process, against a double of the master."""

from __future__ import annotations

import pytest
from tests.harness.conftest import Task
from tests.harness.master_double import Call, MasterDouble

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

DELETE = """
from determined import core
with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 3}) as (path, uuid):
        (path / "weights").write_bytes(b"12345")
    print(uuid, flush=True)
    context.checkpoint.delete(uuid)
"""


def test_a_deleted_checkpoint_counts_as_whole_no_more_before_a_file_is_gone(
    task: Task, master: MasterDouble, python: str
) -> None:
    """Who is killed in the middle must not resume from it."""
    seen: list[tuple[object, bool]] = []

    def note(call: Call) -> tuple[int, dict[str, str]]:
        (left,) = call.body["checkpoints"]
        is_whole = (task.storage / left["uuid"] / "weights").exists()
        seen.append((left["resources"]["resources"], is_whole))
        return 200, {}

    master.on("PATCH", "/api/v1/checkpoints$", note)
    done = task.run_script(python, DELETE)
    assert done.returncode == 0, done.stderr
    assert seen == [({"metadata.json": "26"}, True), ({}, False)]
    assert not list(task.storage.glob(f"{done.stdout.strip()}*"))


def test_a_checkpoint_that_the_master_wants_kept_loses_no_file(
    task: Task, master: MasterDouble, python: str
) -> None:
    refusal = {"error": {"code": 3, "reason": "InvalidArgument", "error": "it is registered"}}
    master.on("PATCH", "/api/v1/checkpoints$", (400, refusal))
    done = task.run_script(python, DELETE)
    assert done.returncode != 0
    assert "it is registered" in done.stderr
    assert (task.storage / done.stdout.strip() / "weights").exists()


DELETE_AGAIN = """
from determined import core
with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 3}) as (path, uuid):
        (path / "weights").write_bytes(b"12345")
    context.checkpoint._storage_manager.clear(uuid, ["**/*"])
    print(uuid, flush=True)
    context.checkpoint.delete(uuid)
"""


def test_deleting_again_removes_what_one_that_was_killed_has_left(
    task: Task, master: MasterDouble, python: str
) -> None:
    done = task.run_script(python, DELETE_AGAIN)
    assert done.returncode == 0, done.stderr
    (told,) = master.named("PATCH", "/api/v1/checkpoints")
    assert told.body["checkpoints"][0]["resources"] == {"resources": {}}
    assert not list(task.storage.glob(f"{done.stdout.strip()}*"))
