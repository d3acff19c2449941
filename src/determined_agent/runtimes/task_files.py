"""Creates a task's files and directories on the agent's machine, owned by the task's user.

All functions raise OSError.
"""

from __future__ import annotations

import os
from pathlib import Path

from determined_agent.container.directory import ContainerDirectory
from determined_wire.agent_link import TaskUser


def make_dirs(path: str, mode: int, user: TaskUser | None) -> None:
    """Create a directory and its missing parents, all owned by the user."""
    if os.path.isdir(path):
        return
    make_dirs(os.path.dirname(path), mode, user)
    os.mkdir(path, mode)
    set_owner(path, user)


def set_owner(path: str, user: TaskUser | None) -> None:
    """Change the owner of a path to the user; None leaves it to the agent."""
    if user is not None:
        os.chown(path, user.uid, user.gid)


def make_run_dir(directory: ContainerDirectory, user: TaskUser | None) -> None:
    """Create the task's run directory.

    Another user may pass through the agent's directories to reach it, but not list them.
    """
    if user is not None:
        for path in (directory.path.parent.parent, directory.path.parent, directory.path):
            path.chmod(path.stat().st_mode | 0o011)
    for name in ("", "info", "pythonuserbase", "workdir"):
        path = directory.run_dir / name
        path.mkdir(mode=0o755 if name == "info" else 0o700)
        set_owner(str(path), user)


def put_file(path: str, content: bytes, mode: int, user: TaskUser | None) -> None:
    """Write a file, and create its missing parents.

    Raises:
        ValueError: the path is not normalized, so it may leave its directory.
    """
    if Path(os.path.normpath(path)) != Path(path):
        raise ValueError(f"the file {path} would lie outside of its directory")
    make_dirs(os.path.dirname(path), 0o755 if user is None else 0o700, user)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        os.fchmod(fd, mode)
    set_owner(path, user)
