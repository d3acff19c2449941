"""Reading directories of storages by descriptors: no link leads out of a storage.

A user who may write to a storage must not read, through the master, files that only the master may
read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Self

import msgspec

from determined_master.domain.checkpoints.access import is_below
from determined_master.domain.errors import FailedPrecondition
from determined_master.services.archives import PIECE_BYTES, ArchiveMember
from determined_wire.agent_link import NO_STORAGE_MARK

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class StorageTree(msgspec.Struct, frozen=True):
    """A directory below the root of a storage, with links already resolved.

    Attributes:
        root: the storage's root.
        path: the directory, relative to it.
    """

    root: str
    path: str

    @classmethod
    def below(cls, root: str, path: str, allowed: Sequence[str] | None = None) -> Self | None:
        """The tree at `path`, absolute and below `root`; None if there is none.

        Args:
            root: of the storage.
            path: the directory.
            allowed: directories below which it must really be; None for all.

        Raises:
            FailedPrecondition: links lead out of the root, or it is a data directory of an agent
                or of the master.
        """
        real_root, real = os.path.realpath(root), os.path.realpath(path)
        if os.path.islink(path) or not os.path.isdir(real):
            return None
        if not is_below(real, real_root):
            raise FailedPrecondition(
                f"the master does not read {path}: links lead out of the storage {root} to {real}"
            )
        tops = None if allowed is None else [os.path.realpath(top) for top in allowed]
        if tops is not None and not any(is_below(real, top) for top in tops):
            raise FailedPrecondition(
                f"the master does not read {path}: it is {real}, which is not below a directory "
                "in task_container_defaults.allowed_host_paths"
            )
        for directory in (Path(real), *Path(real).parents):
            if (directory / NO_STORAGE_MARK).exists():
                raise FailedPrecondition(
                    f"the master does not read {path}: {directory} holds data of an agent or a "
                    "master and is no checkpoint storage"
                )
        return cls(real_root, os.path.relpath(real, real_root))

    def open(self, path: str = ".") -> int:
        """Open a directory, or a regular file, below this one; links are not followed.

        Raises:
            OSError: it was replaced by something else in the meantime.
        """
        parts = [p for p in f"{self.root}/{self.path}/{path}".split("/") if p not in ("", ".")]
        fd = os.open("/", _DIRECTORY)
        for number, part in enumerate(parts, 1):
            flags = _FILE if number == len(parts) else _DIRECTORY
            try:
                child = os.open(part, flags, dir_fd=fd)
            finally:
                os.close(fd)
            fd = child
        mode = os.fstat(fd).st_mode
        if not S_ISDIR(mode) and not S_ISREG(mode):
            os.close(fd)
            raise OSError(f"{path} is neither a file nor a directory")
        return fd

    def members(self) -> list[ArchiveMember]:
        """Everything below, by name.

        A link that leads inside is replaced by its target. A link that leads outside is left out.
        """
        inside = os.path.normpath(f"{self.root}/{self.path}")
        top = self.open()
        try:
            return [
                member
                for folder, folders, files, fd in os.fwalk(".", dir_fd=top)
                for name in sorted(folders) + sorted(files)
                if (member := self._member(inside, os.path.normpath(f"{folder}/{name}"), fd))
            ]
        finally:
            os.close(top)

    def files(self, most: int) -> tuple[list[str], bool]:
        """Paths of regular files below, in no order, and whether there may be more.

        Links are left out.

        Args:
            most: directories and files that are looked at: users make as many as they like.
        """
        paths: list[str] = []
        top = self.open()
        try:
            for folder, folders, names, fd in os.fwalk(".", dir_fd=top):
                for name in names[:most]:
                    if S_ISREG(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                        paths.append(os.path.normpath(f"{folder}/{name}"))
                most -= len(folders) + len(names)
                if most < 0:
                    return paths, True
        finally:
            os.close(top)
        return paths, False

    def content(self, member: ArchiveMember) -> Iterator[bytes]:
        """Exactly as many bytes as the member was said to have.

        Raises:
            OSError: the file was deleted, replaced or became shorter.
        """
        left = member.size
        with open(self.open(member.path), "rb", buffering=0) as file:
            while left:
                piece = file.read(min(PIECE_BYTES, left))
                if not piece:
                    raise OSError(f"{member.name} became shorter while it was read")
                left -= len(piece)
                yield piece

    def _member(self, inside: str, path: str, folder_fd: int) -> ArchiveMember | None:
        status = os.stat(os.path.basename(path), dir_fd=folder_fd, follow_symlinks=False)
        target = path
        if not S_ISDIR(status.st_mode) and not S_ISREG(status.st_mode):
            real = os.path.realpath(f"{inside}/{path}")
            if not real.startswith(f"{inside}/"):
                return None
            target = os.path.relpath(real, inside)
            try:
                fd = self.open(target)
            except OSError:
                return None
            status = os.fstat(fd)
            os.close(fd)
            if S_ISDIR(status.st_mode):
                return None  # its files are in the archive already
        is_directory = S_ISDIR(status.st_mode)
        return ArchiveMember(
            path=target,
            name=path + ("/" if is_directory else ""),
            size=0 if is_directory else status.st_size,
            mode=status.st_mode & 0o777,
            mtime_s=int(status.st_mtime),
        )
