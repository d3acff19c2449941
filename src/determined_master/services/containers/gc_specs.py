"""The container of a checkpoint GC task: command, environment, mounts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from determined_master.domain.task import spec as task_spec
from determined_master.store.checkpoints.gc import GcTaskRow
from determined_wire import agent_link as link

PROGRAM = ("python3", "-m", "determined.exec.gc_checkpoints")
DIRECTORY = f"{task_spec.RUN_DIR}/checkpoint_gc"


def entrypoint(row: GcTaskRow) -> tuple[str, ...]:
    """The command: which files say what to delete, and where."""
    return (
        *PROGRAM,
        "--experiment-id",
        str(row.experiment_id),
        "--storage-config",
        f"{DIRECTORY}/storage_config.json",
        "--delete",
        f"{DIRECTORY}/checkpoints_to_delete.json",
        "--globs",
        f"{DIRECTORY}/globs.json",
        *(("--delete-tensorboards",) if row.removes_tensorboard else ()),
    )


def files(row: GcTaskRow) -> tuple[link.File, ...]:
    """Those files. The storage's may hold secrets, so only the task's user reads it."""
    contents: Mapping[str, Any] = {
        "storage_config": row.storage,
        "checkpoints_to_delete": row.uuids,
        "globs": row.globs,
    }
    return tuple(
        link.File(
            path=f"{DIRECTORY}/{name}.json", content=json.dumps(content).encode(), mode=0o600
        )
        for name, content in contents.items()
    )
