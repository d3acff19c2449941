"""The files that a pod's containers get before the task starts. PURE.

The user's files are in an archive that is unpacked in the container as the task's user. Root's
files are mounted from the Secret, read-only: those of the run directory's `etc` as one directory,
others one by one. Source: task-contract 2.1, helm-and-kubernetes 8.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile

import msgspec

from determined_wire.agent_link import ContainerSpec, File

RUN_DIR = "/run/determined"
ETC_DIR = f"{RUN_DIR}/etc"
"""Of root's files alone."""


class RootFile(msgspec.Struct, frozen=True):
    """A file owned by root: its path, and its key in the Secret."""

    path: str
    key: str
    mode: int
    content: bytes

    @property
    def is_in_etc(self) -> bool:
        return self.path.startswith(f"{ETC_DIR}/")


def user_archive(spec: ContainerSpec) -> bytes:
    """tar.gz of the run directory's content. The same bytes for the same specification.

    Raises:
        ValueError: a file's path is relative, leads out of its directory, or is the user's own
            outside of the run directory.
    """
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        directories: set[str] = set()
        for path, mode in _directories(spec):
            _add_directory(tar, path, mode)
            directories.add(path)
        for file in spec.files:
            if not file.is_root_owned:
                _add(tar, file, directories)
    return buffer.getvalue()


def root_files(spec: ContainerSpec) -> list[RootFile]:
    """The files of the specification, and the task's user, for images that look it up there."""
    files = [*(f for f in spec.files if f.is_root_owned), *_account_files(spec)]
    return [
        RootFile(_checked(file.path), f"root.{n}", file.mode, file.content)
        for n, file in enumerate(files)
    ]


def _account_files(spec: ContainerSpec) -> tuple[File, ...]:
    user, home = spec.user, spec.work_dir or f"{RUN_DIR}/workdir"
    passwd = f"{user.user}:x:{user.uid}:{user.gid}::{home}:/bin/bash\n"
    return (
        File(f"{ETC_DIR}/passwd", passwd.encode(), 0o644),
        File(f"{ETC_DIR}/shadow", f"{user.user}:*:::::::\n".encode(), 0o600),
        File(f"{ETC_DIR}/group", f"{user.group}:x:{user.gid}:\n".encode(), 0o644),
    )


def _directories(spec: ContainerSpec) -> list[tuple[str, int]]:
    directories = [
        (RUN_DIR, 0o700),
        (f"{RUN_DIR}/info", 0o755),
        (f"{RUN_DIR}/pythonuserbase", 0o700),
    ]
    if not spec.work_dir or spec.work_dir == f"{RUN_DIR}/workdir":
        directories.append((f"{RUN_DIR}/workdir", 0o700))
    return directories


def _add(tar: tarfile.TarFile, file: File, directories: set[str]) -> None:
    path = _checked(file.path)
    if not path.startswith(f"{RUN_DIR}/"):
        raise ValueError(
            f"the file {path} lies outside of {RUN_DIR}: on Kubernetes only root's files may"
        )
    missing: list[str] = []
    parent = os.path.dirname(path)
    while parent not in directories:
        missing.append(parent)
        parent = os.path.dirname(parent)
    for directory in reversed(missing):
        _add_directory(tar, directory, 0o700)
        directories.add(directory)
    info = tarfile.TarInfo(_inside(path))
    info.mode, info.size = file.mode, len(file.content)
    tar.addfile(info, io.BytesIO(file.content))


def _add_directory(tar: tarfile.TarFile, path: str, mode: int) -> None:
    info = tarfile.TarInfo(_inside(path))
    info.type, info.mode = tarfile.DIRTYPE, mode
    tar.addfile(info)


def _inside(path: str) -> str:
    return f".{path[len(RUN_DIR) :]}"


def _checked(path: str) -> str:
    if not path.startswith("/") or os.path.normpath(path) != path:
        raise ValueError(f"the file {path} would lie outside of its directory")
    return path
