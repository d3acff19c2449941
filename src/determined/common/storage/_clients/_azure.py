"""Objects of Azure Blob Storage by azure-storage-blob."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Sequence

from determined.common.storage._clients._interface import (
    DELETED_AT_ONCE,
    DENIED,
    PART_BYTES,
    PARTS_AT_ONCE,
    SERVICE,
    Fault,
    ObjectClient,
    PieceFile,
    attempts_in,
    kind_of_status,
)
from determined.common.storage._threads import Halt, each

if TYPE_CHECKING:
    from determined.common.storage._options import Target


class AzureClient(ObjectClient):
    """A container of Azure. Without a key or signature it needs azure-identity too."""

    def __init__(self, target: Target) -> None:
        from azure.storage.blob import BlobServiceClient

        options = target.options
        client = options["client_options"]
        settings: Dict[str, Any] = {
            "max_block_size": PART_BYTES,
            "max_single_put_size": PART_BYTES,
            "connection_timeout": client["connect_timeout"].total_seconds(),
            "read_timeout": client["timeout"].total_seconds(),
            "retry_total": attempts_in(options["retry_config"]["retry_timeout"].total_seconds()),
        }
        if options.get("use_emulator"):
            text = "UseDevelopmentStorage=true"
            service = BlobServiceClient.from_connection_string(text, **settings)
        else:
            service = BlobServiceClient(options["endpoint"], _credential(options), **settings)
        self._container: Any = service.get_container_client(target.name)

    def put(self, key: str, content: bytes) -> None:
        self._container.upload_blob(key, content, overwrite=True)

    def put_pieces(self, key: str, pieces: Iterator[bytes], size: int) -> None:
        self._container.upload_blob(
            key, PieceFile(pieces), length=size, overwrite=True, max_concurrency=PARTS_AT_ONCE
        )

    def get(self, key: str) -> Any:
        return self._read(key)

    def get_range(self, key: str, start: int, length: int) -> Any:
        return self._read(key, offset=start, length=length)

    def has(self, key: str) -> bool:
        return bool(self._container.get_blob_client(key).exists())

    def sizes_below(self, prefix: str) -> Dict[str, int]:
        below = f"{prefix}/" if prefix else ""
        blobs = self._container.list_blobs(name_starts_with=below or None)
        return {blob.name[len(below) :]: int(blob.size) for blob in blobs}

    def delete(self, keys: Sequence[str]) -> None:
        from azure.core.exceptions import ResourceNotFoundError

        def delete(key: str, halt: Halt) -> None:
            with contextlib.suppress(ResourceNotFoundError):
                self._container.delete_blob(key)

        each(delete, keys, DELETED_AT_ONCE)

    @staticmethod
    def fault_of(error: Exception) -> Optional[Fault]:
        from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

        if not isinstance(error, AzureError):
            return None
        text = " ".join(str(error).partition("RequestId:")[0].split()).partition("?")[0]
        if isinstance(error, ClientAuthenticationError):
            return Fault(DENIED, text)
        if isinstance(error, HttpResponseError):
            return Fault(kind_of_status(error.status_code), text)
        return Fault(SERVICE, text)

    def _read(self, key: str, **part: int) -> bytes:
        from azure.core.exceptions import ResourceNotFoundError

        try:
            content: bytes = self._container.download_blob(key, **part).readall()
        except ResourceNotFoundError as error:
            raise FileNotFoundError(key) from error
        return content


def _credential(options: Dict[str, Any]) -> Any:
    if "account_key" in options:
        return {"account_name": options["account_name"], "account_key": options["account_key"]}
    if "sas_key" in options:
        from azure.core.credentials import AzureSasCredential

        return AzureSasCredential(options["sas_key"])
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential()
