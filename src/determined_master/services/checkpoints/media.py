"""Reading the media of trials for the web UI."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from determined_master.domain.access import rules as access
from determined_master.domain.checkpoints.media import (
    MAX_MEDIA_BYTES,
    MAX_MEDIA_FILES,
    MediaPath,
    MediaSeries,
    media_directory,
    media_path,
    media_series,
)
from determined_master.domain.checkpoints.object_target import OBJECT_KINDS
from determined_master.domain.checkpoints.path import base_path
from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.services.checkpoints.directories import StorageTree
from determined_master.store.checkpoints import checkpoints as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.checkpoints.access import StorageAccess
    from determined_master.ports.buckets import Buckets
    from determined_master.store.db import Database

THREADS = 2


class MediaList(NamedTuple):
    """The series of a trial; `is_cut` says that there are more files."""

    series: list[MediaSeries]
    is_cut: bool


class TrialMedia:
    """Files of media, read in separate threads. Call `close` at the end."""

    def __init__(
        self, db: Database, cluster_id: str, buckets: Buckets, storage_access: StorageAccess
    ) -> None:
        self._db = db
        self._cluster_id = cluster_id
        self._buckets = buckets
        self._access = storage_access
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="media")

    def close(self) -> None:
        """Wait for the file at work."""
        self._threads.shutdown()

    async def series(self, caller: Caller, trial_id: int) -> MediaList:
        """The media of a trial, of at most `MAX_MEDIA_FILES` files.

        Raises:
            NotFound: there is no such trial.
            FailedPrecondition: the master may not read the storage.
            Unavailable, Unimplemented: the master cannot read the storage.
        """
        storage, directory = await self._place(caller, trial_id)
        loop = asyncio.get_running_loop()
        paths, is_cut = await loop.run_in_executor(self._threads, self._paths, storage, directory)
        return MediaList(media_series(paths), is_cut)

    async def content(self, caller: Caller, trial_id: int, path: str) -> tuple[MediaPath, bytes]:
        """One file, by its path `GROUP/NAME/FILE`.

        Raises:
            NotFound: there is no such trial or file.
            FailedPrecondition: the file is too large, or the master may not read the storage.
            Unavailable, Unimplemented: the master cannot read the storage.
        """
        file = media_path(path)
        if file is None:
            raise NotFound(f"trial {trial_id} has no media {path[:400]!r}: no such name or type")
        storage, directory = await self._place(caller, trial_id)
        loop = asyncio.get_running_loop()
        content = await loop.run_in_executor(
            self._threads, self._content, storage, directory, path
        )
        if content is None:
            raise NotFound(f"trial {trial_id} has no media {path!r}: it was deleted")
        if len(content) > MAX_MEDIA_BYTES:
            raise FailedPrecondition(
                f"media {path} of trial {trial_id} has more than {MAX_MEDIA_BYTES} bytes, the "
                "most that is shown: read it from the storage"
            )
        return file, content

    async def _place(self, caller: Caller, trial_id: int) -> tuple[Mapping[str, Any], str]:
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            row = await rows.find_trial_storage(conn, trial_id)
        if row is None:
            raise NotFound(f"trial '{trial_id}' not found")
        return row.storage, media_directory(self._cluster_id, row.experiment_id, trial_id)

    def _paths(self, storage: Mapping[str, Any], directory: str) -> tuple[list[str], bool]:
        if storage.get("type") in OBJECT_KINDS:
            paths = list(self._buckets.sizes_below(storage, directory, MAX_MEDIA_FILES + 1))
            return paths[:MAX_MEDIA_FILES], len(paths) > MAX_MEDIA_FILES
        tree = self._tree(storage, directory)
        return ([], False) if tree is None else tree.files(MAX_MEDIA_FILES)

    def _content(self, storage: Mapping[str, Any], directory: str, path: str) -> bytes | None:
        """Its first bytes, one more than may be shown; None if there is no such file."""
        most = MAX_MEDIA_BYTES + 1
        if storage.get("type") in OBJECT_KINDS:
            return self._buckets.content(storage, f"{directory}/{path}", most)
        tree = self._tree(storage, directory)
        try:
            descriptor = None if tree is None else tree.open(path)
        except OSError:
            return None
        if descriptor is None:
            return None
        with open(descriptor, "rb") as file:
            return file.read(most)

    def _tree(self, storage: Mapping[str, Any], directory: str) -> StorageTree | None:
        root, base = base_path(storage, f"media {directory}")
        self._access.check_directory(storage, base)
        return StorageTree.below(
            root, os.path.join(base, directory), self._access.roots_of(storage)
        )
