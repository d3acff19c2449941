"""Where checkpoints are kept: the contract, and storage in a directory."""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
from typing import Dict, Iterator, List, Optional, Sequence, Union

from determined._uuid import new_uuid
from determined.common.storage import _files
from determined.common.storage._files import Selector
from determined.errors import CheckpointNotFound

Path = Union[str, "os.PathLike[str]"]


class StorageManager(abc.ABC):
    """Keeps each checkpoint as a tree of files named by its uuid."""

    @abc.abstractmethod
    def upload(self, src: Path, dst: str, paths: Optional[Sequence[str]] = None) -> None:
        """Store files of directory `src` (all, or the relative `paths`) as checkpoint `dst`."""

    @abc.abstractmethod
    def download(self, src: str, dst: Path, selector: Selector = None) -> None:
        """Fetch checkpoint `src` into directory `dst`.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def delete(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        """Delete the files of a checkpoint that fit a pattern; return the sizes of the rest.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def store_path(self, dst: str) -> contextlib.AbstractContextManager[pathlib.Path]:
        """A directory to write checkpoint `dst` into."""

    @abc.abstractmethod
    def restore_path(
        self, src: str, selector: Selector = None
    ) -> contextlib.AbstractContextManager[pathlib.Path]:
        """A directory to read checkpoint `src` from.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def list_paths(self, src: str) -> Dict[str, int]:
        """Sizes in bytes of a checkpoint's files by path.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def validate(self) -> None:
        """Write, read back and delete a small file.

        Raises:
            OSError: one of these failed.
        """


class DirectoryStorageManager(StorageManager):
    """Storage in a directory that this process reaches by its path.

    Args:
        base_path: the directory; made at the first write.
    """

    def __init__(self, base_path: Path) -> None:
        self.base_path = os.fspath(base_path)

    def upload(self, src: Path, dst: str, paths: Optional[Sequence[str]] = None) -> None:
        wanted = list(_files.list_directory(os.fspath(src))) if paths is None else paths
        target = self._path(dst)
        _files.make_dirs(self.base_path)
        _files.copy_paths(os.fspath(src), target, wanted)

    def download(self, src: str, dst: Path, selector: Selector = None) -> None:
        source = self._existing(src)
        paths = [p for p in _files.list_directory(source) if selector is None or selector(p)]
        os.makedirs(dst, exist_ok=True)
        _files.copy_paths(source, os.fspath(dst), paths, dir_mode=0o755)

    def delete(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        root = self._existing(tgt)
        resources = _files.list_directory(root)
        doomed = [p for p in resources if not p.endswith("/") and _files.matches_any(p, globs)]
        if len(doomed) == sum(not p.endswith("/") for p in resources) and globs:
            _files.remove_tree(root)
            return {}
        for path in doomed:
            os.unlink(os.path.join(root, path))
        if doomed:
            _remove_empty(root, resources)
        return _files.list_directory(root)

    @contextlib.contextmanager
    def store_path(self, dst: str) -> Iterator[pathlib.Path]:
        target = self._path(dst)
        _files.make_dirs(target)
        yield pathlib.Path(target)
        for path in _files.list_directory(target):
            if path.endswith("/"):
                with contextlib.suppress(PermissionError):  # another rank's directory
                    os.chmod(os.path.join(target, path), 0o777)

    @contextlib.contextmanager
    def restore_path(self, src: str, selector: Selector = None) -> Iterator[pathlib.Path]:
        yield pathlib.Path(self._existing(src))

    def list_paths(self, src: str) -> Dict[str, int]:
        return _files.list_directory(self._existing(src))

    def validate(self) -> None:
        name = new_uuid()
        _files.make_dirs(self.base_path)
        folder = self._path(name)
        _files.make_dirs(folder)
        path = os.path.join(folder, "VALIDATE.txt")
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write(name)
            with open(path, encoding="ascii") as file:
                found = file.read()
        finally:
            _files.remove_tree(folder)
        if found != name:
            raise OSError(f"{path}: read back {found!r} where {name!r} was written")

    def _path(self, uuid: str) -> str:
        if not uuid or uuid in (".", "..") or "/" in uuid or "\0" in uuid:
            raise ValueError(f"{uuid!r} is no checkpoint's uuid")
        return os.path.join(self.base_path, uuid)

    def _existing(self, uuid: str) -> str:
        path = self._path(uuid)
        if not os.path.isdir(path):
            raise CheckpointNotFound(f"checkpoint {uuid} is not in the storage: no {path}")
        return path


class SharedFSStorageManager(DirectoryStorageManager):
    """Storage on a file system that every agent mounts at the same place."""


def _remove_empty(root: str, resources: Dict[str, int]) -> None:
    folders: List[str] = [p for p in resources if p.endswith("/")]
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(os.path.join(root, folder))
