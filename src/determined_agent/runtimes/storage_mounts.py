"""The directories of checkpoint storages on this machine, before a container mounts them.

A mistyped path must not become a new, empty storage: a directory is created only if the storage's
configuration says so.
"""

from __future__ import annotations

import os

from determined_agent.container.environment import SHARED_FS_DIR
from determined_agent.runtimes.task_files import make_dirs
from determined_wire.agent_link import Mount, TaskUser


def is_created(mount: Mount) -> bool:
    """Whether a missing directory is created; masters before `if_missing` expect that."""
    return mount.if_missing == "create" or (
        not mount.if_missing and mount.container_path == SHARED_FS_DIR
    )


def prepare(mount: Mount, user: TaskUser | None) -> bool:
    """Create or check the directory of a mount on this machine; return whether to mount it.

    Raises:
        ValueError: it is missing, and may not be created.
        OSError: it cannot be created.
    """
    if is_created(mount):
        make_dirs(mount.host_path, 0o755, user)
    elif mount.if_missing and not os.path.isdir(mount.host_path):
        if mount.if_missing == "skip":
            return False
        raise ValueError(missing_text(mount))
    return True


def may_create(user: TaskUser) -> bool:
    """Whether this agent can create a directory that is the account's own, or that root uses."""
    return os.geteuid() in (0, user.uid) or user.uid == 0


def missing_text(mount: Mount) -> str:
    """The error about a missing directory."""
    if is_created(mount):
        return (
            f"checkpoint_storage.host_path {mount.host_path} is not a directory of this agent, "
            "which is not root and creates directories for tasks of the agent's account and of "
            "root alone: create the directory for the task's account"
        )
    return (
        f"checkpoint_storage.host_path {mount.host_path} is not a directory of this agent: "
        "correct the path, create the directory, or set checkpoint_storage.create to true"
    )
