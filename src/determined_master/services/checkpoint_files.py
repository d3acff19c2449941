"""Reading the files of checkpoints for those who cannot reach their storage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from determined_master.domain.checkpoint_path import checkpoint_directory
from determined_master.domain.errors import NotFound
from determined_master.services.archives import Form, members_of, pieces_of
from determined_master.store import checkpoints as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access import Caller
    from determined_master.services.checkpoints import Checkpoints

THREADS = 2


class CheckpointFiles:
    """Archives of checkpoints, in threads of their own. Call `close` at the end."""

    def __init__(self, pool: asyncpg.Pool, checkpoints: Checkpoints) -> None:
        self._pool = pool
        self._checkpoints = checkpoints
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="checkpoints")

    def close(self) -> None:
        """Wait for the piece at work."""
        self._threads.shutdown()

    async def archive(self, caller: Caller, uuid: str, form: Form) -> AsyncGenerator[bytes]:
        """The files of a checkpoint as one archive, piece by piece.

        Raises:
            NotFound: there is no such checkpoint, or its files are gone.
            Unimplemented: they lie in a storage that the master does not read.
        """
        row = await self._checkpoints.get(caller, uuid)
        storage = (row.experiment_config or {}).get("checkpoint_storage") or {}
        if row.storage_id is not None:
            async with self._pool.acquire() as conn:
                storage = await rows.find_storage(conn, row.storage_id) or storage
        directory = checkpoint_directory(storage, row.uuid)
        loop = asyncio.get_running_loop()
        members = await loop.run_in_executor(self._threads, members_of, Path(directory))
        if members is None:
            raise NotFound(
                f"checkpoint '{row.uuid}' is {row.state} and the master finds no directory "
                f"{directory}: its files were deleted, or lie on a file system that is not "
                "mounted on the master's machine"
            )
        return self._in_threads(pieces_of(members, form))

    async def _in_threads(self, pieces: Iterator[bytes]) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        while (piece := await loop.run_in_executor(self._threads, next, pieces, None)) is not None:
            if piece:
                yield piece
