"""Where checkpoints are kept: the contract of every storage."""

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
    """Keeps each checkpoint as a tree of files named by its uuid.

    Its files come first, from one rank or from many (`upload`), then its manifest (`seal`), which
    makes it whole. What the storage itself does wrong is a CheckpointStorageError everywhere.
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
        """Make checkpoint `dst` whole, whose files all are stored."""

    @abc.abstractmethod
    def manifest(self, src: str) -> Optional[Manifest]:
        """What checkpoint `src` must hold; None when an older harness stored it.

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
            src: the checkpoint's uuid.
            dst: a directory, made if missing.
            selector: which of its paths.
            verify: compare every file with the manifest, where there is one.
            progress: is told the bytes that came.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
            CheckpointCorrupted: a file is missing or is not what was stored; it is not left.
        """

    @abc.abstractmethod
    def clear(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        """Delete the files of a checkpoint that fit a pattern; return the sizes of the rest.

        One that failed half-way may be repeated. When no file is left its manifest still is,
        until `forget`: who is to tell others what is left may be cut short before, and finds
        out again that the checkpoint was here.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def forget(self, tgt: str) -> None:
        """Delete what `clear` has left of a checkpoint without files."""

    @abc.abstractmethod
    def restore_path(
        self, src: str, selector: Selector = None
    ) -> contextlib.AbstractContextManager[pathlib.Path]:
        """A directory to read checkpoint `src` from; errors as `download`.

        Of storage that is reached by path it is the checkpoint's own: sizes are compared with
        the manifest, contents are not.
        """

    @abc.abstractmethod
    def list_paths(self, src: str) -> Dict[str, int]:
        """Sizes in bytes of a checkpoint's files by path, 0 for directories.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """

    @abc.abstractmethod
    def upload_file(self, src: Path, path: str) -> None:
        """Store one file that is no checkpoint's at a path below the storage's base."""

    @abc.abstractmethod
    def sizes_below(self, path: str) -> Dict[str, int]:
        """Sizes in bytes of the files below such a path, by their path from there on."""

    @abc.abstractmethod
    def download_file(self, path: str, dst: Path, size: int) -> None:
        """Fetch one such file, of which `size` bytes were listed, in the place of `dst`.

        What stood there stays until all of it has come.
        """

    @abc.abstractmethod
    def delete_below(self, path: str) -> None:
        """Delete all that lies at and below such a path."""

    @abc.abstractmethod
    def validate(self) -> None:
        """Write, read back and delete a small file.

        Raises:
            OSError: one of these failed.
        """

    @staticmethod
    def _list_directory(root: Path) -> Dict[str, int]:
        """Older callbacks for Hugging Face's trainer list by this what they report."""
        return list_directory(os.fspath(root))

    def readable_manifest(self, src: str) -> Optional[Manifest]:
        """As `manifest`; None also for one that is broken."""
        try:
            return self.manifest(src)
        except CheckpointCorrupted:
            return None

    def delete(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        """As `clear`; where no file is left, nothing is."""
        left = self.clear(tgt, globs)
        if not left:
            self.forget(tgt)
        return left

    def own_directory(self, dst: str) -> Optional[str]:
        """The directory of checkpoint `dst`, made; None where files have to be uploaded."""
        return None

    def seal_directory(self, dst: str) -> None:
        """Make whole what was written into `own_directory`."""
        raise NotImplementedError(f"{type(self).__name__} has no directories of its own")

    def write_empty_manifest(self, tgt: str) -> None:
        """Give a checkpoint of an older harness, which is about to go, a manifest to go last.

        It names no file, so none is missed. Full storage has no room for it, and is to have more.
        """
        with contextlib.suppress(CheckpointStorageError):
            self.seal(tgt, Manifest({}))

    def abandon(self, dst: str) -> None:
        """Leave nothing of a checkpoint that could not be stored, as far as that can be done."""
        with contextlib.suppress(Exception):
            self.delete(dst, ["**/*"])

    @contextlib.contextmanager
    def store_path(self, dst: str) -> Iterator[pathlib.Path]:
        """A directory to write checkpoint `dst` into; it is whole once the block has ended."""
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
    """The uuid, which names a directory.

    Raises:
        ValueError: it would lead elsewhere.
    """
    if not uuid or uuid in (".", "..") or "/" in uuid or "\0" in uuid:
        raise ValueError(f"{uuid!r} is no checkpoint's uuid")
    return uuid


def manifest_of(files: Mapping[str, Entry], resources: Mapping[str, int]) -> Manifest:
    """The manifest of uploaded files, and of the directories among the resources."""
    folders = [path for path in resources if path.endswith("/")]
    return Manifest(dict(files), tuple(folders))
