"""The files that are uploaded into a container before its start, as a tar archive. PURE.

Source: task-contract 2.1.
"""

from __future__ import annotations

import io
import os
import tarfile

from determined_agent.container.environment import CONTAINER_RUN_DIR
from determined_wire.agent_link import ContainerSpec, File, TaskUser

_ROOT = TaskUser()


def archive(spec: ContainerSpec, mtime: int) -> bytes:
    """Return the archive to unpack at `/`: the run directory and the specification's files.

    Unpacking changes owner and mode of existing directories that are in the archive, so it
    contains only directories of its own.

    Raises:
        ValueError: a file's path is relative or not normalized.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        directories: set[str] = set()
        for path, mode in _directories(spec):
            _add_directory(tar, path, mode, spec.user, mtime)
            directories.add(path)
        for file in [*spec.files, *account_files(spec)]:
            _add_parents(tar, file, spec.user, directories, mtime)
            _add_file(tar, file, spec.user, mtime)
    return buffer.getvalue()


def account_files(spec: ContainerSpec) -> tuple[File, ...]:
    """Return the files that define the task's user for images with libnss_determined."""
    user, home = spec.user, spec.work_dir or f"{CONTAINER_RUN_DIR}/workdir"
    etc = f"{CONTAINER_RUN_DIR}/etc"
    passwd = f"{user.user}:x:{user.uid}:{user.gid}::{home}:/bin/bash\n"
    return (
        File(f"{etc}/passwd", passwd.encode(), 0o644, is_root_owned=True),
        File(f"{etc}/shadow", f"{user.user}:*:::::::\n".encode(), 0o600, is_root_owned=True),
        File(f"{etc}/group", f"{user.group}:x:{user.gid}:\n".encode(), 0o644, is_root_owned=True),
    )


def _directories(spec: ContainerSpec) -> list[tuple[str, int]]:
    run = CONTAINER_RUN_DIR
    directories = [(run, 0o700), (f"{run}/info", 0o755), (f"{run}/pythonuserbase", 0o700)]
    if not spec.work_dir or spec.work_dir == f"{run}/workdir":
        directories.append((f"{run}/workdir", 0o700))
    return directories


def _add_parents(
    tar: tarfile.TarFile, file: File, user: TaskUser, directories: set[str], mtime: int
) -> None:
    """Add the parents of a file below the run directory; others belong to the image."""
    path = file.path
    if not path.startswith("/") or os.path.normpath(path) != path:
        raise ValueError(f"the file {path} would lie outside of its directory")
    missing: list[str] = []
    parent = os.path.dirname(path)
    while parent.startswith(f"{CONTAINER_RUN_DIR}/") and parent not in directories:
        missing.append(parent)
        parent = os.path.dirname(parent)
    owner = _ROOT if file.is_root_owned else user
    mode = 0o755 if file.is_root_owned else 0o700
    for directory in reversed(missing):
        _add_directory(tar, directory, mode, owner, mtime)
        directories.add(directory)


def _add_directory(tar: tarfile.TarFile, path: str, mode: int, user: TaskUser, mtime: int) -> None:
    info = _info(path, mode, user, mtime)
    info.type = tarfile.DIRTYPE
    tar.addfile(info)


def _add_file(tar: tarfile.TarFile, file: File, user: TaskUser, mtime: int) -> None:
    info = _info(file.path, file.mode, _ROOT if file.is_root_owned else user, mtime)
    info.size = len(file.content)
    tar.addfile(info, io.BytesIO(file.content))


def _info(path: str, mode: int, user: TaskUser, mtime: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path.lstrip("/"))
    info.mode, info.mtime = mode, mtime
    info.uid, info.gid = user.uid, user.gid
    return info
