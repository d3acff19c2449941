"""TensorBoard files in Azure Blob Storage, by the storage's own arguments."""

from __future__ import annotations

from typing import Any, Optional

from determined.common.storage.azure import AzureStorageManager
from determined.tensorboard._manager import ObjectTensorboardManager


class AzureTensorboardManager(ObjectTensorboardManager):
    """Uploads to Azure Blob Storage; `args` and `kwargs` are those of `TensorboardManager`."""

    def __init__(
        self,
        container: str,
        connection_string: Optional[str] = None,
        account_url: Optional[str] = None,
        credential: Optional[Any] = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        storage = AzureStorageManager(container, connection_string, account_url, credential)
        super().__init__(storage, *args, **kwargs)
