"""Ends tasks that the agent does not know any more: their directories are spoilt or gone.

The master starts such a task again. Two of its processes would then write the same checkpoints and
use the same devices.
"""

from __future__ import annotations

import logging
import signal
from pathlib import Path

from determined_agent.container.directory import running_shims
from determined_agent.runtimes.process.shim_process import kill_leftovers
from determined_agent.shim.process_tree import kill_below, send

log = logging.getLogger(__name__)


async def end_strays(root: Path, containers: frozenset[str]) -> None:
    """End the tasks below an agent's directory that are not among the known containers.

    A task is found by its shim, whose command line names the task's directory, and by the
    directory, whose name is in the environment of the task's processes. Returns when they have
    ended.
    """
    shims = {id: pid for id, pid in running_shims(root).items() if id not in containers}
    spoilt = {path.name for path in _directories(root) if path.name not in containers}
    for container_id in sorted(shims.keys() | spoilt):
        if container_id in shims:
            log.error(
                "ending a task whose directory cannot be read: the master starts it again",
                extra={"container": container_id, "directory": str(root / container_id)},
            )
            kill_below(shims[container_id])
            send(shims[container_id], signal.SIGKILL)
        await kill_leftovers(container_id)


def _directories(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if (path / "output").is_dir()]
