"""TensorBoard files in Google Cloud Storage, by the storage's own arguments."""

from __future__ import annotations

from typing import Any, Optional

from determined.common.storage.gcs import GCSStorageManager
from determined.tensorboard._manager import ObjectTensorboardManager


class GCSTensorboardManager(ObjectTensorboardManager):
    """Uploads to Google Cloud Storage; `args` and `kwargs` are those of `TensorboardManager`."""

    def __init__(
        self,
        bucket: str,
        prefix: Optional[str],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        storage = GCSStorageManager(bucket, prefix)
        super().__init__(storage, *args, **kwargs)
