"""Directories of the machine in containers: links may not lead out of what an admin allows."""

from __future__ import annotations

import os

import msgspec

from determined_agent.container.environment import ContainerStart


class MountNotAllowed(Exception):
    """A directory lies elsewhere than its path says."""


def with_real_mounts(start: ContainerStart) -> ContainerStart:
    """The container with the real paths of its directories.

    A user who may write to an allowed directory can make a link there, which runtimes follow.

    Raises:
        MountNotAllowed: a directory is not below one that the master allows.
    """
    roots = start.spec.host_roots
    if roots is None:
        return start
    real_roots = [os.path.realpath(root) for root in roots]
    mounts = []
    for mount in start.spec.mounts:
        real = os.path.realpath(mount.host_path)
        if not any(real == root or real.startswith(f"{root.rstrip('/')}/") for root in real_roots):
            raise MountNotAllowed(
                f"the directory {mount.host_path} of this machine is {real}, which is not below "
                f"{', '.join(roots) or 'any allowed directory'}: see "
                "task_container_defaults.allowed_host_paths"
            )
        mounts.append(msgspec.structs.replace(mount, host_path=real))
    spec = msgspec.structs.replace(start.spec, mounts=tuple(mounts))
    return msgspec.structs.replace(start, spec=spec)
