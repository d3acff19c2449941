"""The base of managers of object storage, under its public name."""

from __future__ import annotations

import os
from typing import Any, Optional

from determined.common.storage._bucket import Bucket, region_of_bucket
from determined.common.storage._objects import ObjectStorageManager
from determined.common.storage._options import target_of


class CloudStorageManager(ObjectStorageManager):
    """Storage in a bucket or container.

    Args:
        config: the fields of `checkpoint_storage`; those that are None are left out.
        temp_dir: ignored; downloads go to the folder that the caller names, or to a temporary one.
    """

    def __init__(self, config: Any, temp_dir: Optional[str] = None) -> None:
        fields = {key: value for key, value in config.items() if value is not None}
        target = target_of(fields, os.environ, region_of_bucket)
        super().__init__(Bucket(target), target.prefix)
