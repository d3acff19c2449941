"""Saving and loading checkpoints."""

from __future__ import annotations

import contextlib
import datetime
import enum
import json
import logging
import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from determined._uuid import new_uuid
from determined.common.storage import list_directory
from determined.core._checkpoint_shards import METADATA_FILE, agree, merge_metadata
from determined.core._checkpoint_store import CheckpointStore, write_metadata
from determined.core._metrics import plain_metrics
from determined.core._modes import TensorboardMode, choice
from determined.core._off_cluster._tell import tell
from determined.errors import CheckpointNotFound

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession
    from determined.common.storage import StorageManager
    from determined.core._distributed import DistributedContext
    from determined.tensorboard import TensorboardManager

logger = logging.getLogger("determined.core")

Path = Union[str, "os.PathLike[str]"]
Selector = Optional[Callable[[str], bool]]
Metadata = Optional[Dict[str, Any]]


class DownloadMode(enum.Enum):
    """Whether the ranks of a container share one download."""

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


class CheckpointContext:
    """Stores checkpoints in the experiment's storage and reports them to the master.

    A checkpoint is complete when `upload` or the block of `store_path` ends without an error. Its
    files and its manifest (sizes and hashes) are then stored, and the master has received all
    metrics reported before. A checkpoint that cannot be stored completely is removed.
    """

    def __init__(
        self,
        dist: DistributedContext,
        storage_manager: StorageManager,
        session: BaseSession,
        task_id: str,
        allocation_id: Optional[str],
        tbd_sync_mode: TensorboardMode,
        tensorboard_manager: Optional[TensorboardManager],
        storage_backend_id: Optional[int] = None,
    ) -> None:
        self._dist = dist
        self._storage_manager = storage_manager
        self._store = CheckpointStore(dist, storage_manager)
        self._session = session
        self._task_id = task_id
        self._allocation_id = allocation_id
        self._tbd_sync_mode = tbd_sync_mode
        self._tensorboard_manager = tensorboard_manager
        self._storage_backend_id = storage_backend_id
        self._before_report: Callable[[], None] = lambda: None

    def upload(
        self,
        ckpt_dir: Optional[Path],
        metadata: Metadata = None,
        *,
        shard: bool = False,
        selector: Selector = None,
    ) -> str:
        """Store the files of a directory as a new checkpoint; return its UUID.

        Writes `metadata.json` into the directory.

        Args:
            ckpt_dir: the directory; with `shard`, None on ranks without files.
            metadata: the checkpoint's metadata; `steps_completed` is required.
            shard: every rank calls, and each uploads its own files.
            selector: the files to upload, by path relative to the directory.

        Raises:
            ValueError: `steps_completed` is missing, or `ckpt_dir` is not a directory.
            RuntimeError: there is no directory; a worker calls without `shard`; the ranks'
                arguments conflict; or another rank failed.
            OSError: a file could not be read or stored.
        """
        folder = None if ckpt_dir is None else os.fspath(ckpt_dir)
        if shard:
            return self._upload_sharded(folder, metadata, selector)
        self._refuse_workers("upload")
        if folder is None:
            raise RuntimeError("upload needs a checkpoint directory unless shard=True")
        values = self._checked(metadata)
        write_metadata(folder, values)
        found = list_directory(folder)
        resources = {p: n for p, n in found.items() if selector is None or selector(p)}
        uuid = new_uuid()
        self._store.upload(uuid, folder, resources)
        self._report_checkpoint(uuid, resources, values)
        return uuid

    def download(
        self,
        storage_id: str,
        ckpt_dir: Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector = None,
        verify: bool = True,
    ) -> None:
        """Fetch a checkpoint's files into a directory.

        Args:
            storage_id: the checkpoint's UUID.
            ckpt_dir: the target directory; the same on all ranks that share a download.
            download_mode: whether the ranks of a container share one download. If they do, all
                of them must call.
            selector: the files to fetch. A shared download fetches every file that any of its
                ranks selects.
            verify: compare each file with the hash in the manifest.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
            CheckpointCorrupted: a file is missing, or differs from what was stored.
            ValueError: the mode does not exist.
        """
        mode = choice(DownloadMode, download_mode, "download_mode")
        if mode is DownloadMode.NoSharedDownload:
            self._store.fetch(storage_id, ckpt_dir, selector, verify)
            return
        wanted = self._selected_locally(storage_id, selector)
        problem: Optional[str] = None
        if self._dist.local_rank == 0:
            try:
                self._store.fetch(storage_id, ckpt_dir, wanted, verify)
            except Exception as error:
                problem = str(error) or type(error).__name__
                self._dist.broadcast_local(problem)
                raise
        problem = self._dist.broadcast_local(problem)
        if problem is not None:
            raise RuntimeError(f"the download by local rank 0 failed: {problem}")

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """The metadata of a checkpoint, as the master has it.

        Raises:
            NotFoundException: the checkpoint does not exist.
        """
        answer = self._session.get(f"/api/v1/checkpoints/{storage_id}").json() or {}
        return dict((answer.get("checkpoint") or {}).get("metadata") or {})

    @contextlib.contextmanager
    def store_path(
        self, metadata: Metadata = None, *, shard: bool = False
    ) -> Iterator[Tuple[pathlib.Path, str]]:
        """Yield a directory for a new checkpoint and its UUID; store it when the block ends.

        Arguments and errors as `upload`. If the block raises, nothing is reported.
        """
        if not shard:
            self._refuse_workers("store_path")
        values = merge_metadata(self._dist.allgather(metadata or {})) if shard else metadata
        values = self._checked(values)
        uuid = new_uuid()
        if not shard:
            with self._store.directory(uuid, values) as place:
                yield place.path, uuid
            self._report_checkpoint(uuid, place.resources, values)
            return
        uuid = self._dist.broadcast(uuid)
        with self._store.shared_directory(uuid, values) as place:
            yield place.path, uuid
        agree(self._dist, lambda: self._report_on_chief(uuid, place.resources, values))

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector = None,
    ) -> Iterator[pathlib.Path]:
        """Yield a read-only directory with a checkpoint's files, valid until the block ends.

        Arguments and errors as `download`. If this process reaches the storage by path, the
        directory is the checkpoint's own and has all of its files.
        """
        mode = choice(DownloadMode, download_mode, "download_mode")
        if mode is DownloadMode.NoSharedDownload:
            with self._storage_manager.restore_path(storage_id, selector) as path:
                yield path
            return
        wanted = self._selected_locally(storage_id, selector)
        with contextlib.ExitStack() as stack:
            place: Any = None
            problem: Optional[Exception] = None
            if self._dist.local_rank == 0:
                try:
                    place = stack.enter_context(
                        self._storage_manager.restore_path(storage_id, wanted)
                    )
                except Exception as error:
                    problem = error
            text, shared = self._dist.broadcast_local((problem and str(problem), place))
            if problem is not None:
                raise problem
            if text is not None:
                raise RuntimeError(f"the download by local rank 0 failed: {text}")
            try:
                yield pathlib.Path(shared)
            finally:
                self._dist.gather_local(None)  # keeps the directory until all ranks are done

    def delete(self, storage_id: str) -> None:
        """Delete a checkpoint's files, and report the remaining ones to the master.

        The deletion is reported before the first file is removed. If this run is killed then,
        the next one does not resume from an incomplete checkpoint. The call may be repeated: a
        checkpoint whose files are gone counts as deleted.

        Raises:
            BadRequestException: the master refuses, because a run starts from the checkpoint or
                it is registered. No file is deleted.
            NotFoundException: it belongs to another experiment. No file is deleted.
        """
        try:
            sizes = self._storage_manager.list_paths(storage_id)
        except CheckpointNotFound:
            logger.info("checkpoint %s has no files left", storage_id)
            self._report_remaining(storage_id, {})
            self._storage_manager.forget(storage_id)  # an interrupted deletion leaves a manifest
            return
        self._report_remaining(storage_id, {METADATA_FILE: sizes.get(METADATA_FILE, 0)})
        left = self._storage_manager.clear(storage_id, ["**/*"])
        self._report_remaining(storage_id, left)
        if not left:
            self._storage_manager.forget(storage_id)

    def _report_remaining(self, uuid: str, resources: Dict[str, int]) -> None:
        left = {"uuid": uuid, "resources": {"resources": _texts(resources)}}
        self._session.patch("/api/v1/checkpoints", json={"checkpoints": [left]})

    def _checked(self, metadata: Metadata) -> Dict[str, Any]:
        values = _plain_metadata(metadata)
        if "steps_completed" not in values:
            raise ValueError("the metadata of a checkpoint must contain steps_completed")
        return values

    def _upload_sharded(
        self, folder: Optional[str], metadata: Metadata, selector: Selector
    ) -> str:
        values = self._checked(merge_metadata(self._dist.allgather(metadata or {})))
        uuid: str = self._dist.broadcast(new_uuid())
        resources = self._store.upload_shares(uuid, folder, values, selector)
        agree(self._dist, lambda: self._report_on_chief(uuid, resources, values))
        return uuid

    def _report_on_chief(
        self, uuid: str, resources: Dict[str, int], metadata: Dict[str, Any]
    ) -> None:
        if self._dist.rank == 0:
            self._report_checkpoint(uuid, resources, metadata)

    def _report_checkpoint(
        self,
        uuid: str,
        resources: Optional[Dict[str, int]] = None,
        metadata: Metadata = None,
    ) -> None:
        """Report a checkpoint; older callbacks for Hugging Face's trainer call it."""
        self._before_report()
        body: Dict[str, Any] = {
            "uuid": uuid,
            "taskId": self._task_id,
            "metadata": self._checked(metadata),
            "resources": _texts(resources or {}),
            "training": {},
            "reportTime": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            "state": "STATE_COMPLETED",
        }
        if self._allocation_id is not None:
            body["allocationId"] = self._allocation_id
        if self._storage_backend_id is not None:
            body["storageId"] = self._storage_backend_id
        self._session.post("/api/v1/checkpoints", json=body)
        logger.info("reported checkpoint %s", uuid)
        if self._tensorboard_manager and self._tbd_sync_mode is TensorboardMode.AUTO:
            self._tensorboard_manager.sync()

    def _selected_locally(self, uuid: str, selector: Selector) -> Selector:
        """On local rank 0, the union of the selections of this container's ranks."""
        if not any(self._dist.allgather_local(selector is not None)):
            return None
        paths: List[str] = []
        problem: Optional[Exception] = None
        if self._dist.local_rank == 0:
            try:
                paths = list(self._storage_manager.list_paths(uuid))
            except Exception as error:
                problem = error
        paths = self._dist.broadcast_local(paths)
        mine = [path for path in paths if selector is None or selector(path)]
        wanted = self._dist.gather_local(mine)
        if problem is not None:
            logger.debug("the checkpoint could not be listed: %s", problem)
        union = {path for part in wanted or () for path in part}
        return lambda path: path in union

    def _refuse_workers(self, call: str) -> None:
        if self._dist.rank > 0:
            raise RuntimeError(
                f"only the chief may call {call}; with shard=True every rank calls it and stores "
                "its own files"
            )


class DummyCheckpointContext(CheckpointContext):
    """Stores checkpoints off the cluster, without reporting them."""

    def __init__(self, dist: DistributedContext, storage_manager: StorageManager) -> None:
        self._dist = dist
        self._storage_manager = storage_manager
        self._store = CheckpointStore(dist, storage_manager)

    def get_metadata(self, storage_id: str) -> Dict[str, Any]:
        """The metadata stored with a checkpoint's files.

        Raises:
            CheckpointNotFound: the storage has no such checkpoint.
        """
        with self._storage_manager.restore_path(storage_id, lambda p: p == METADATA_FILE) as path:
            return dict(json.loads((path / METADATA_FILE).read_text("utf-8")))

    def delete(self, storage_id: str) -> None:
        """Delete a checkpoint's files, if there are any."""
        try:
            self._storage_manager.delete(storage_id, ["**/*"])
        except CheckpointNotFound:
            logger.info("checkpoint %s has no files left", storage_id)

    def _checked(self, metadata: Metadata) -> Dict[str, Any]:
        return _plain_metadata(metadata)  # steps_completed is not required here

    def _report_checkpoint(
        self,
        uuid: str,
        resources: Optional[Dict[str, int]] = None,
        metadata: Metadata = None,
    ) -> None:
        base = getattr(self._storage_manager, "base_path", "")
        where = f" in {os.path.join(base, uuid)}" if base else ""
        tell("saved checkpoint %s%s", uuid, where)


def _plain_metadata(metadata: Metadata) -> Dict[str, Any]:
    if metadata is not None and not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a dict of values by name, got {metadata!r:.100}")
    return plain_metrics(metadata or {}, "metadata value")


def _texts(resources: Dict[str, int]) -> Dict[str, str]:
    return {path: str(size) for path, size in resources.items()}
