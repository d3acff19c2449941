"""Storage in S3, by its own arguments."""

from __future__ import annotations

from typing import Optional

from determined.common.storage.cloud import CloudStorageManager


class S3StorageManager(CloudStorageManager):
    """Storage in S3; arguments as the fields of `checkpoint_storage`."""

    def __init__(
        self,
        bucket: str,
        access_key: Optional[str] = None,
        secret_key: Optional[str] = None,
        endpoint_url: Optional[str] = None,
        prefix: Optional[str] = None,
        temp_dir: Optional[str] = None,
    ) -> None:
        config = {
            "type": "s3",
            "bucket": bucket,
            "access_key": access_key,
            "secret_key": secret_key,
            "endpoint_url": endpoint_url,
            "prefix": prefix,
        }
        super().__init__(config, temp_dir)
