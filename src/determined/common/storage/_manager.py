"""The interface of checkpoint storage."""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
import tempfile
from typing import Dict, Iterator, Mapping, Optional, Sequence, Union

from determined.common.storage._copy import Progress
from determined.common.storage._files import Selector, list_directory
from determined.common.storage._manifest import Entries, Entry, Manifest
from determined.errors import CheckpointCorrupted, CheckpointStorageError

Path = Union[str, "os.PathLike[str]"]


class StorageManager(abc.ABC):
    """Stores each checkpoint as a tree of files named by its UUID.

    The files are stored first, by one or several ranks (`upload`), then the manifest (`seal`),
    which completes the checkpoint. Methods raise CheckpointStorageError if the storage fails.
    """

    @abc.abstractmethod
    def upload(
        self,
        src: Path,
        dst: str,
        paths: Optional[Sequence[str]] = None,
        progress: Progress = None,
    ) -> Entries:
        """Store files of directory `src` (all, or the relative `paths`) in checkpoint `dst`.

        Returns:
            The files with sizes and hashes, for `seal`.

        Raises:
            OSError: a local file cannot be read.
        """

    @abc.abstractmethod
    def seal(self, dst: str, manifest: Manifest) -> None:
        """Store the manifest of checkpoint `dst`, after all of its files."""

    @abc.abstractmethod
    def manifest(self, src: str) -> Optional[Manifest]:
        """The manifest of checkpoint `src`; None if an older harness stored it.

        Raises:
            CheckpointCorrupted: the manifest cannot be read.
        """

    @abc.abstractmethod
    def download(
        self,
        src: str,
        dst: Path,
        selector: Selector = None,
        verify: bool = True,
        progress: Progress = None,
    ) -> None:
        """Fetch checkpoint `src` into directory `dst`.

        Args:
            src: the checkpoint's UUID.
            dst: the target directory, created if missing.
            selector: the paths to fetch.
            verify: compare every file with the manifest, if there is one.
            progress: called with the bytes received.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
            CheckpointCorrupted: a file is missing or differs from what was stored; it is removed.
        """

    @abc.abstractmethod
    def clear(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        """Delete the files of a checkpoint that match a pattern; return the sizes of the rest.

        A failed call can be repeated. A checkpoint without files keeps its manifest until
        `forget`. A caller that is interrupted before it reports the deletion can thus still tell a
        deleted checkpoint from a missing one.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def forget(self, tgt: str) -> None:
        """Delete the manifest of a checkpoint without files."""

    @abc.abstractmethod
    def restore_path(
        self, src: str, selector: Selector = None
    ) -> contextlib.AbstractContextManager[pathlib.Path]:
        """A directory to read checkpoint `src` from; errors as `download`.

        If the storage is reached by path, it is the checkpoint's own directory. Its sizes are
        compared with the manifest, its contents are not.
        """

    @abc.abstractmethod
    def list_paths(self, src: str) -> Dict[str, int]:
        """Sizes in bytes of a checkpoint's files by path; 0 for directories.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def upload_file(self, src: Path, path: str) -> None:
        """Store a file outside any checkpoint, at a path below the storage's base."""

    @abc.abstractmethod
    def sizes_below(self, path: str) -> Dict[str, int]:
        """Sizes in bytes of the files below such a path, by path relative to it."""

    @abc.abstractmethod
    def download_file(self, path: str, dst: Path, size: int) -> None:
        """Fetch one such file with a listed size of `size` bytes to `dst`.

        An existing file is replaced only after the whole file has been fetched.
        """

    @abc.abstractmethod
    def delete_below(self, path: str) -> None:
        """Delete such a path and everything below it."""

    @abc.abstractmethod
    def validate(self) -> None:
        """Write, read and delete a small file.

        Raises:
            OSError: one of these failed.
        """

    @staticmethod
    def _list_directory(root: Path) -> Dict[str, int]:
        """List a directory; older callbacks for Hugging Face's trainer call it."""
        return list_directory(os.fspath(root))

    def readable_manifest(self, src: str) -> Optional[Manifest]:
        """As `manifest`, but None if the manifest is invalid."""
        try:
            return self.manifest(src)
        except CheckpointCorrupted:
            return None

    def delete(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        """As `clear`, and `forget` if no file is left."""
        left = self.clear(tgt, globs)
        if not left:
            self.forget(tgt)
        return left

    def own_directory(self, dst: str) -> Optional[str]:
        """Create and return the directory of checkpoint `dst`; None if files must be uploaded."""
        return None

    def seal_directory(self, dst: str) -> None:
        """Store the manifest of a checkpoint written into `own_directory`."""
        raise NotImplementedError(f"{type(self).__name__} has no directories of its own")

    def write_empty_manifest(self, tgt: str) -> None:
        """Give a checkpoint of an older harness an empty manifest before its files are deleted.

        A full storage is ignored, since the deletion frees space.
        """
        with contextlib.suppress(CheckpointStorageError):
            self.seal(tgt, Manifest({}))

    def abandon(self, dst: str) -> None:
        """Delete an incomplete checkpoint, ignoring errors."""
        with contextlib.suppress(Exception):
            self.delete(dst, ["**/*"])

    @contextlib.contextmanager
    def store_path(self, dst: str) -> Iterator[pathlib.Path]:
        """Yield a directory for checkpoint `dst`, which is stored when the block ends."""
        own = self.own_directory(dst)
        try:
            if own is not None:
                yield pathlib.Path(own)
                self.seal_directory(dst)
                return
            with tempfile.TemporaryDirectory(prefix="determined-checkpoint-") as folder:
                yield pathlib.Path(folder)
                self.seal(dst, manifest_of(self.upload(folder, dst), list_directory(folder)))
        except BaseException:
            self.abandon(dst)
            raise


def checked_uuid(uuid: str) -> str:
    """Validate a UUID that names a directory.

    Raises:
        ValueError: it is not a plain name.
    """
    if not uuid or uuid in (".", "..") or "/" in uuid or "\0" in uuid:
        raise ValueError(f"{uuid!r} is not a checkpoint's UUID")
    return uuid


def manifest_of(files: Mapping[str, Entry], resources: Mapping[str, int]) -> Manifest:
    """The manifest of uploaded files and of the directories in `resources`."""
    folders = [path for path in resources if path.endswith("/")]
    return Manifest(dict(files), tuple(folders))
