"""What the container of a task that is no trial's has beside what every task's has."""

from __future__ import annotations

import msgspec

from determined_wire import agent_link as link


class TaskProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What one task runs."""

    username: str
    """Of its owner."""
    description: str
    entrypoint: tuple[str, ...]
    environment: dict[str, str]
    work_dir: str
    files: tuple[link.File, ...] = ()
    mounts: tuple[link.Mount, ...] = ()
    ports: tuple[int, ...] = ()
    """All that the container exposes, in order."""
