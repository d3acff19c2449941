"""The container of a generic task: command, environment, files."""

from __future__ import annotations

from determined_master.domain.config.task import work_directory
from determined_master.domain.task import spec as task_spec
from determined_master.services.containers.options import TaskProgram, mounts
from determined_master.store.tasks.generic_tasks import GenericTaskRow
from determined_wire import agent_link as link

PROGRAM = ("python3", "-m", "determined.exec.entry")
DESCRIPTION = "generic-task"


def program_of(
    row: GenericTaskRow, user: link.TaskUser, device_type: str, count: int = 1
) -> TaskProgram:
    """The user's command, after the directory is fetched and the hooks are run.

    Args:
        row: the task.
        user: whom it runs as.
        device_type: of its slots; says which of the configuration's variables it gets.
        count: containers of the allocation; several first wait until all of them run.
    """
    config = row.typed
    directory = work_directory(
        config, task_spec.WORK_DIR, agent_user=user.user, username=row.username
    )
    own = {"DET_WORKDIR": directory}
    if config.containers.is_debug:
        own["DET_DEBUG"] = "true"
    return TaskProgram(
        username=row.username,
        description=DESCRIPTION,
        entrypoint=(*PROGRAM, "gang" if count > 1 else "command", *config.entrypoint),
        environment={**own, **config.containers.variables_of(device_type)},
        work_dir=directory,
        mounts=tuple(mounts(config.containers)),
        ports=tuple(sorted(config.containers.exposed_ports())),
    )
