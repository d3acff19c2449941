"""Reading the files of checkpoints for those who cannot reach their storage."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncGenerator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from determined_master.domain.checkpoints.object_target import OBJECT_KINDS
from determined_master.domain.checkpoints.path import checkpoint_path, manifest_name
from determined_master.domain.errors import NotFound
from determined_master.records.checkpoints import CheckpointRow
from determined_master.services.archives import (
    ArchiveMember,
    Form,
    members_of_objects,
    pieces_of,
)
from determined_master.services.checkpoints.directories import StorageTree
from determined_master.store.checkpoints import checkpoints as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.checkpoints.access import StorageAccess
    from determined_master.ports.buckets import Buckets
    from determined_master.services.checkpoints.service import Checkpoints

THREADS = 2
MAX_MANIFEST_BYTES = 64 * 1024 * 1024


class CheckpointFiles:
    """Archives of checkpoints, in threads of their own. Call `close` at the end."""

    def __init__(
        self,
        db: asyncpg.Pool,
        checkpoints: Checkpoints,
        buckets: Buckets,
        storage_access: StorageAccess,
    ) -> None:
        self._db = db
        self._checkpoints = checkpoints
        self._buckets = buckets
        self._access = storage_access
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="checkpoints")

    def close(self) -> None:
        """Wait for the piece at work."""
        self._threads.shutdown()
        self._buckets.close()

    async def archive(self, caller: Caller, uuid: str, form: Form) -> AsyncGenerator[bytes]:
        """The files of a checkpoint as one archive, piece by piece.

        Raises:
            NotFound: there is no such checkpoint, or its files are deleted.
            FailedPrecondition: the master may not read the storage.
            Unavailable, Unimplemented: the master cannot read the storage.
        """
        row = await self._checkpoints.get(caller, uuid)
        storage = await self._storage_of(row)
        loop = asyncio.get_running_loop()
        if storage.get("type") in OBJECT_KINDS:
            sizes = await loop.run_in_executor(
                self._threads, self._buckets.sizes_below, storage, row.uuid
            )
            if not sizes:
                raise NotFound(f"checkpoint '{row.uuid}' is {row.state} and has no files")
            read = lambda member: self._object(storage, member)  # noqa: E731
            return self._in_threads(pieces_of(members_of_objects(sizes, row.uuid), form, read))
        tree = await loop.run_in_executor(self._threads, self._tree, storage, row.uuid)
        if tree is None:
            raise NotFound(
                f"checkpoint '{row.uuid}' is {row.state} and the master finds no directory "
                f"{checkpoint_path(storage, row.uuid).path}: its files were deleted, or lie on a "
                "file system that is not mounted on the master's machine"
            )
        members = await loop.run_in_executor(self._threads, tree.members)
        return self._in_threads(pieces_of(members, form, tree.content))

    async def manifest(self, caller: Caller, uuid: str) -> bytes:
        """The manifest of a checkpoint as its harness stored it.

        Raises:
            NotFound: there is no such checkpoint, or it has none.
            FailedPrecondition: the master may not read the storage.
            Unavailable, Unimplemented: the master cannot read the storage.
        """
        row = await self._checkpoints.get(caller, uuid)
        storage = await self._storage_of(row)
        name = manifest_name(row.uuid)
        loop = asyncio.get_running_loop()
        if storage.get("type") in OBJECT_KINDS:
            found = await loop.run_in_executor(self._threads, self._buckets.content, storage, name)
        else:
            found = await loop.run_in_executor(
                self._threads, self._content_of, storage, row.uuid, name
            )
        if found is None:
            raise NotFound(
                f"checkpoint '{row.uuid}' has no manifest: it was stored by a harness before "
                "0.39, or its files are out of the master's reach"
            )
        return found

    async def _storage_of(self, row: CheckpointRow) -> Mapping[str, Any]:
        storage = (row.experiment_config or {}).get("checkpoint_storage") or {}
        if row.storage_id is None:
            return storage
        async with self._db.acquire() as conn:
            return await rows.find_storage(conn, row.storage_id) or storage

    def _tree(self, storage: Mapping[str, Any], uuid: str) -> StorageTree | None:
        """The directory of a checkpoint; None if there is none."""
        root, path = checkpoint_path(storage, uuid)
        self._access.check_directory(storage, posixpath.dirname(path))
        return StorageTree.below(root, path, self._access.roots_of(storage))

    def _content_of(self, storage: Mapping[str, Any], uuid: str, name: str) -> bytes | None:
        """A regular file beside the directory of a checkpoint."""
        root, path = checkpoint_path(storage, uuid)
        base = posixpath.dirname(path)
        self._access.check_directory(storage, base)
        tree = StorageTree.below(root, base, self._access.roots_of(storage))
        try:
            descriptor = None if tree is None else tree.open(name)
        except OSError:
            return None
        if descriptor is None:
            return None
        with open(descriptor, "rb") as file:
            return file.read(MAX_MANIFEST_BYTES)

    def _object(self, storage: Mapping[str, Any], member: ArchiveMember) -> Iterator[bytes]:
        """Exactly as many bytes as the member was said to have."""
        left = member.size
        for piece in self._buckets.pieces(storage, member.path) if left else ():
            left -= len(piece)
            yield piece
        if left:
            raise OSError(f"{member.name} has another size than it was listed with")

    async def _in_threads(self, pieces: Iterator[bytes]) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        while (piece := await loop.run_in_executor(self._threads, next, pieces, None)) is not None:
            if piece:
                yield piece
