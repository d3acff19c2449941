"""Transfers of a checkpoint's files to and from the storage."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Union

from determined.common.storage import Entries, list_directory, manifest_of
from determined.core._checkpoint_progress import logging_progress
from determined.core._checkpoint_shards import METADATA_FILE, agree, divide, merge_entries

if TYPE_CHECKING:
    from determined.common.storage import StorageManager
    from determined.core._distributed import DistributedContext

Path = Union[str, "os.PathLike[str]"]
Selector = Optional[Callable[[str], bool]]
Resources = Dict[str, int]


class CheckpointDirectory:
    """A directory that ranks write a checkpoint into, and the resources that were stored."""

    def __init__(self, path: str) -> None:
        self.path = pathlib.Path(path)
        self.resources: Resources = {}


class CheckpointStore:
    """Checkpoint storage as the ranks of a trial use it. A failed upload is removed."""

    def __init__(self, dist: DistributedContext, storage: StorageManager) -> None:
        self._dist = dist
        self._storage = storage

    def upload(self, uuid: str, folder: str, resources: Resources) -> None:
        """Store files of a directory as a checkpoint; called on the chief."""
        try:
            with logging_progress(
                f"storing checkpoint {uuid}", sum(resources.values())
            ) as progress:
                files = self._storage.upload(folder, uuid, list(resources), progress)
                self._storage.seal(uuid, manifest_of(files, resources))
        except BaseException:
            self._storage.abandon(uuid)
            raise

    def upload_shares(
        self, uuid: str, folder: Optional[str], metadata: Dict[str, Any], selector: Selector
    ) -> Resources:
        """Store each rank's files, then the manifest on the chief; called on every rank.

        Returns:
            The resources of all ranks, without `metadata.json`.
        """
        share = divide(self._dist, folder, selector)

        def store() -> Entries:
            paths = list(share.paths)
            if share.is_first and folder is not None:
                write_metadata(folder, metadata)
                paths.append(METADATA_FILE)
            if not paths or folder is None:
                return {}
            with logging_progress(f"storing this rank's files of checkpoint {uuid}") as progress:
                return self._storage.upload(folder, uuid, paths, progress)

        with self._abandoned_on_error(uuid):
            files = merge_entries(agree(self._dist, store))
            agree(self._dist, lambda: self._seal_on_chief(uuid, files, share.resources))
        return share.resources

    @contextlib.contextmanager
    def shared_directory(
        self, uuid: str, metadata: Dict[str, Any]
    ) -> Iterator[CheckpointDirectory]:
        """The checkpoint's directory in the storage, or a temporary directory for each rank."""
        own = self._storage.own_directory(uuid)
        if own is None:
            with tempfile.TemporaryDirectory(prefix="determined-checkpoint-") as folder:
                shared = CheckpointDirectory(folder)
                yield shared
                shared.resources = self.upload_shares(uuid, folder, metadata, None)
            return
        shared = CheckpointDirectory(own)
        with self._abandoned_on_error(uuid):
            yield shared
            agree(self._dist, lambda: None)  # wait until all ranks have written
            finish = lambda: self._finish_on_chief(uuid, own, metadata)  # noqa: E731
            shared.resources = agree(self._dist, finish)[0]

    @contextlib.contextmanager
    def directory(self, uuid: str, metadata: Dict[str, Any]) -> Iterator[CheckpointDirectory]:
        """A directory that the chief writes a checkpoint into."""
        with self._storage.store_path(uuid) as path:
            shared = CheckpointDirectory(os.fspath(path))
            yield shared
            write_metadata(os.fspath(path), metadata)
            shared.resources = list_directory(os.fspath(path))

    def fetch(self, uuid: str, folder: Path, selector: Selector, verify: bool) -> None:
        """Fetch files of a checkpoint; errors as `StorageManager.download`."""
        with logging_progress(f"fetching checkpoint {uuid}") as progress:
            self._storage.download(uuid, folder, selector, verify, progress)

    @contextlib.contextmanager
    def _abandoned_on_error(self, uuid: str) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if self._dist.rank == 0:
                self._storage.abandon(uuid)
            raise

    def _seal_on_chief(self, uuid: str, files: Entries, resources: Resources) -> None:
        if self._dist.rank == 0:
            self._storage.seal(uuid, manifest_of(files, resources))

    def _finish_on_chief(self, uuid: str, own: str, metadata: Dict[str, Any]) -> Resources:
        if self._dist.rank > 0:
            return {}
        write_metadata(own, metadata)
        self._storage.seal_directory(uuid)
        return list_directory(own)


def write_metadata(folder: str, metadata: Dict[str, Any]) -> None:
    """Write `metadata.json` into a checkpoint's directory."""
    with open(os.path.join(folder, METADATA_FILE), "w", encoding="utf-8") as file:
        json.dump(metadata, file, indent=2)
