"""Storage in Google Cloud Storage, by its own arguments."""

from __future__ import annotations

from typing import Optional

from determined.common.storage.cloud import CloudStorageManager


class GCSStorageManager(CloudStorageManager):
    """Storage in Google Cloud Storage; arguments as the fields of `checkpoint_storage`."""

    def __init__(
        self,
        bucket: str,
        prefix: Optional[str] = None,
        temp_dir: Optional[str] = None,
    ) -> None:
        config = {
            "type": "gcs",
            "bucket": bucket,
            "prefix": prefix,
        }
        super().__init__(config, temp_dir)
