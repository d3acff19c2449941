"""Making directories on the agent's machine for a task's user."""

from __future__ import annotations

import os

from determined_wire.agent_link import TaskUser


def make_dirs(path: str, mode: int, user: TaskUser | None) -> None:
    """Make a directory and those above it that are missing; all belong to the user.

    Raises:
        OSError: one cannot be made.
    """
    if os.path.isdir(path):
        return
    make_dirs(os.path.dirname(path), mode, user)
    os.mkdir(path, mode)
    set_owner(path, user)


def set_owner(path: str, user: TaskUser | None) -> None:
    """Let a path belong to the user; None leaves it to the agent. Raises OSError."""
    if user is not None:
        os.chown(path, user.uid, user.gid)
