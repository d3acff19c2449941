"""Upload of TensorBoard files from a task to the experiment's storage."""

from __future__ import annotations

import abc
import logging
import os
import pathlib
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from determined.common import storage
from determined.common.storage import make_dirs, remove_tree

logger = logging.getLogger("determined.tensorboard")

Selector = Callable[[pathlib.Path], bool]
Mangler = Callable[[pathlib.Path, int], pathlib.Path]
Upload = List[Tuple[pathlib.Path, pathlib.Path]]
"""Pairs of a local file and its path below the storage's `sync_path`."""
SYNC_EVERY_S = 1.0
MAX_PENDING = 50
"""The maximum number of distinct pending requests; equal ones are merged."""


def get_base_path(checkpoint_config: Dict[str, Any]) -> pathlib.Path:
    """The local directory of this task's TensorBoard files.

    Args:
        checkpoint_config: ignored.
    """
    allocation = os.environ.get("DET_ALLOCATION_ID", "")
    rank = os.environ.get("HOROVOD_RANK", "0")
    return pathlib.Path(tempfile.gettempdir(), f"tensorboard-{allocation}-{rank}")


def get_sync_path(cluster_id: str, experiment_id: str, trial_id: str) -> pathlib.Path:
    """The path of a trial's files below the storage's base."""
    return get_experiment_sync_path(cluster_id, experiment_id) / "trial" / str(trial_id)


def get_experiment_sync_path(cluster_id: str, experiment_id: str) -> pathlib.Path:
    """The path of an experiment's files below the storage's base."""
    return pathlib.Path(str(cluster_id), "tensorboard", "experiment", str(experiment_id))


class TensorboardManager(abc.ABC):
    """Uploads files that changed since the last upload.

    Args:
        base_path: the local directory.
        sync_path: the target path below the storage's base.
        async_upload: upload in a thread, at most once a second, instead of in the caller.
        sync_on_close: upload once more in `close`.
    """

    def __init__(
        self,
        base_path: pathlib.Path,
        sync_path: pathlib.Path,
        async_upload: bool = True,
        sync_on_close: bool = True,
    ) -> None:
        self.base_path = base_path
        self.sync_path = sync_path
        self.last_sync = 0.0
        self.sync_on_close = sync_on_close
        self.upload_thread: Optional[threading.Thread] = None
        self._is_async = async_upload
        self._synced: Dict[pathlib.Path, int] = {}
        self._changed = threading.Condition()
        self._requests: List[Tuple[Selector, Mangler, int]] = []
        self._is_closing = False

    def list_tb_files(self, since: float, selector: Selector) -> List[pathlib.Path]:
        """Selected files that changed at or after a time (of `time.time()`)."""
        return [
            path
            for path in sorted(self.base_path.rglob("*"))
            if path.is_file() and path.stat().st_mtime >= since and selector(path)
        ]

    def to_sync(self, selector: Selector) -> List[pathlib.Path]:
        """Files that changed since their last upload."""
        return [
            path
            for path in self.list_tb_files(0, selector)
            if self._synced.get(path) != path.stat().st_mtime_ns
        ]

    def sync(
        self,
        selector: Selector = lambda _: True,
        mangler: Mangler = lambda p, __: p,
        rank: int = 0,
    ) -> None:
        """Upload changed files; with `async_upload` soon, in the thread."""
        if self.upload_thread is None:
            self._sync_now(selector, mangler, rank)
            return
        request = (selector, mangler, rank)
        with self._changed:
            self._changed.wait_for(lambda: len(self._requests) < MAX_PENDING or self._is_closing)
            if request not in self._requests:
                self._requests.append(request)
            self._changed.notify_all()

    @abc.abstractmethod
    def delete(self) -> None:
        """Delete `sync_path` from the storage."""

    @abc.abstractmethod
    def _upload(self, files: Upload) -> None:
        """Upload files."""

    def start(self) -> None:
        """Create the local directory and start the thread."""
        self.base_path.mkdir(parents=True, exist_ok=True)
        if self._is_async:
            self.upload_thread = threading.Thread(
                target=self._run, name="det-tensorboard", daemon=True
            )
            self.upload_thread.start()

    def close(self) -> None:
        """Finish pending uploads, and stop the thread."""
        if self.upload_thread is not None:
            with self._changed:
                self._is_closing = True
                self._changed.notify_all()
            self.upload_thread.join()
            self.upload_thread = None
        if self.sync_on_close:
            self._try_sync(lambda _: True, lambda p, __: p, 0)

    def __enter__(self) -> TensorboardManager:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._requests) or self._is_closing)
                if not self._requests:
                    return
                requests, self._requests = self._requests, []
                self._changed.notify_all()
            for request in requests:
                self._try_sync(*request)
            with self._changed:
                self._changed.wait_for(lambda: self._is_closing, SYNC_EVERY_S)

    def _try_sync(self, selector: Selector, mangler: Mangler, rank: int) -> None:
        try:
            self._sync_now(selector, mangler, rank)
        except Exception as error:  # TensorBoard files must not fail a trial
            logger.warning("TensorBoard files could not be uploaded: %s", error)

    def _sync_now(self, selector: Selector, mangler: Mangler, rank: int) -> None:
        started_at = time.time()
        paths = self.to_sync(selector)
        stamps = {path: path.stat().st_mtime_ns for path in paths}
        self._upload([(p, mangler(p.relative_to(self.base_path), rank)) for p in paths])
        self._synced.update(stamps)
        self.last_sync = started_at


class SharedFSTensorboardManager(TensorboardManager):
    """Uploads to a directory that this process can reach."""

    def __init__(self, storage_path: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.storage_path = pathlib.Path(storage_path)
        self.shared_fs_base = self.storage_path.joinpath(self.sync_path)

    def delete(self) -> None:
        remove_tree(os.fspath(self.shared_fs_base))

    def _upload(self, files: Upload) -> None:
        import shutil

        for source, relative in files:
            target = self.shared_fs_base / relative
            make_dirs(os.fspath(target.parent))
            shutil.copyfile(source, target)


DirectoryTensorboardManager = SharedFSTensorboardManager


class ObjectTensorboardManager(TensorboardManager):
    """Uploads whole files to a bucket."""

    def __init__(self, manager: storage.StorageManager, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._storage = manager

    def delete(self) -> None:
        self._storage.delete_below(self.sync_path.as_posix())

    def _upload(self, files: Upload) -> None:
        for source, relative in files:
            self._storage.upload_file(source, (self.sync_path / relative).as_posix())


def build(
    checkpoint_config: Dict[str, Any],
    sync_path: pathlib.Path,
    async_upload: bool = True,
    base_path: Optional[pathlib.Path] = None,
    sync_on_close: bool = True,
    shared_fs_root: Optional[str] = None,
) -> TensorboardManager:
    """The manager for an experiment's storage; errors as `storage.build`.

    The default of `base_path` is the directory of this task.
    """
    local = base_path or get_base_path(checkpoint_config)
    when = {"async_upload": async_upload, "sync_on_close": sync_on_close}
    if checkpoint_config.get("type") in storage.OBJECT_KINDS:
        return ObjectTensorboardManager(storage.build(checkpoint_config), local, sync_path, **when)
    base = storage.base_path(checkpoint_config, shared_fs_root)
    return SharedFSTensorboardManager(base, local, sync_path, **when)
