"""What the container of a generic task is started with."""

from __future__ import annotations

from typing import Any

from determined_master.domain import task_spec
from determined_master.domain.config.task import typed_task, work_directory
from determined_master.store.generic_tasks import GenericTaskRow
from determined_wire import agent_link as link

PROGRAM = ("python3", "-m", "determined.exec.entry")
DESCRIPTION = "generic-task"


def entrypoint(row: GenericTaskRow, count: int) -> tuple[str, ...]:
    """The command: the user's, after the directory is fetched and the hooks are run.

    Args:
        count: containers of the allocation; several first wait until all of them run.
    """
    kind = "gang" if count > 1 else "command"
    return (*PROGRAM, kind, *typed_task(row.config).entrypoint)


def work_dir(row: GenericTaskRow, user: link.TaskUser) -> str:
    """Where it starts."""
    return work_directory(
        typed_task(row.config),
        task_spec.WORK_DIR,
        agent_user=user.user,
        username=row.username,
    )


def variables(row: GenericTaskRow, device_type: str, directory: str) -> dict[str, str]:
    """What its environment has beside that of every task."""
    own: dict[str, Any] = {"DET_WORKDIR": directory}
    if row.config.get("debug"):
        own["DET_DEBUG"] = "true"
    return {**own, **task_spec.user_environment(row.config, device_type)}
