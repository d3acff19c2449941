"""Ends tasks that the agent does not know any more: their directories are spoilt or gone.

The master starts such a task again. Two of its processes would then write the same checkpoints and
use the same devices.
"""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path

from determined_agent.runtimes.process.shim_process import PROGRAM, kill_leftovers
from determined_agent.shim.process_tree import kill_below, send

log = logging.getLogger(__name__)


async def end_strays(root: Path, known: frozenset[str]) -> None:
    """End the tasks below an agent's directory that are not among the known containers.

    A task is found by its shim, whose command line names the task's directory, and by the
    directory, whose name is in the environment of the task's processes. Returns when they have
    ended.
    """
    shims = {id: pid for id, pid in _shims(root).items() if id not in known}
    spoilt = {path.name for path in _directories(root) if path.name not in known}
    for container_id in sorted(shims.keys() | spoilt):
        if container_id in shims:
            log.error(
                "ending a task whose directory cannot be read: the master starts it again",
                extra={"container": container_id, "directory": str(root / container_id)},
            )
            kill_below(shims[container_id])
            send(shims[container_id], signal.SIGKILL)
        await kill_leftovers(container_id)


def _shims(root: Path) -> dict[str, int]:
    """The process ids of the shims of all tasks below a directory, by container."""
    shims = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):  # it has ended, or is no shim
            continue
        directory = Path(words[-2]) if len(words) > 2 else Path()
        if directory.parent == root and any(PROGRAM in word for word in words):
            shims[directory.name] = int(name)
    return shims


def _directories(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if (path / "output").is_dir()]
