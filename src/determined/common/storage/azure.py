"""Storage in Azure Blob Storage, by its own arguments."""

from __future__ import annotations

from typing import Any, Optional

from determined.common.storage.cloud import CloudStorageManager


class AzureStorageManager(CloudStorageManager):
    """Storage in Azure Blob Storage; arguments as the fields of `checkpoint_storage`."""

    def __init__(
        self,
        container: str,
        connection_string: Optional[str] = None,
        account_url: Optional[str] = None,
        credential: Optional[Any] = None,
        temp_dir: Optional[str] = None,
    ) -> None:
        config = {
            "type": "azure",
            "container": container,
            "connection_string": connection_string,
            "account_url": account_url,
            "credential": credential,
        }
        super().__init__(config, temp_dir)
