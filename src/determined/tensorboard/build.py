"""The manager of a trial's TensorBoard files."""

from __future__ import annotations

from typing import Any, Dict, Optional

from determined.tensorboard import _manager
from determined.tensorboard._manager import (
    TensorboardManager,
    get_base_path,
    get_experiment_sync_path,
    get_sync_path,
)


def build(
    cluster_id: str,
    experiment_id: str,
    trial_id: Optional[str],
    checkpoint_config: Dict[str, Any],
    container_path: Optional[str] = None,
    async_upload: bool = True,
    sync_on_close: bool = True,
) -> TensorboardManager:
    """The manager for the files of a trial, or of its experiment where `trial_id` is None.

    Args:
        container_path: where a shared file system is mounted; None for the task's own place.

    Raises:
        ValueError, CheckpointStorageError: as `storage.build`.
    """
    if trial_id is None:
        path = get_experiment_sync_path(cluster_id, experiment_id)
    else:
        path = get_sync_path(cluster_id, experiment_id, trial_id)
    return _manager.build(
        checkpoint_config,
        path,
        async_upload=async_upload,
        sync_on_close=sync_on_close,
        shared_fs_root=container_path,
    )


__all__ = ["build", "get_base_path", "get_experiment_sync_path", "get_sync_path"]
