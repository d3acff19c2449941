"""TensorBoard files in S3, by the storage's own arguments."""

from __future__ import annotations

from typing import Any, Optional

from determined.common.storage.s3 import S3StorageManager
from determined.tensorboard._manager import ObjectTensorboardManager


class S3TensorboardManager(ObjectTensorboardManager):
    """Uploads to S3; `args` and `kwargs` are those of `TensorboardManager`."""

    def __init__(
        self,
        bucket: str,
        access_key: Optional[str],
        secret_key: Optional[str],
        endpoint_url: Optional[str],
        prefix: Optional[str],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        storage = S3StorageManager(bucket, access_key, secret_key, endpoint_url, prefix)
        super().__init__(storage, *args, **kwargs)
