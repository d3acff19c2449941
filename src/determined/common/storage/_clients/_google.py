"""Objects of Google Cloud Storage by google-cloud-storage."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Sequence

from determined.common.storage._clients._interface import (
    DELETED_AT_ONCE,
    DENIED,
    PART_BYTES,
    SERVICE,
    Fault,
    ObjectClient,
    PieceFile,
    kind_of_status,
)
from determined.common.storage._threads import Halt, each

if TYPE_CHECKING:
    from determined.common.storage._options import Target

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_KIND = "application/octet-stream"


class GoogleClient(ObjectClient):
    """Google Cloud Storage."""

    def __init__(self, target: Target) -> None:
        import google.auth
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.storage.retry import DEFAULT_RETRY

        self._name = target.name
        self._credentials: Any
        if "service_account_key" in target.options:  # an emulator; the library reads its address
            self._credentials = AnonymousCredentials()
        else:
            self._credentials, _ = google.auth.default(scopes=[_SCOPE])
        seconds = target.options["retry_config"]["retry_timeout"].total_seconds()
        client = target.options["client_options"]
        times = (client["connect_timeout"].total_seconds(), client["timeout"].total_seconds())
        self._how: Dict[str, Any] = {
            "retry": DEFAULT_RETRY.with_timeout(seconds),
            "timeout": times,
        }
        self._of_thread = threading.local()  # its HTTP session belongs to one thread

    def put(self, key: str, content: bytes) -> None:
        self._blob(key).upload_from_string(content, content_type=_KIND, **self._how)

    def put_pieces(self, key: str, pieces: Iterator[bytes], size: int) -> None:
        blob = self._blob(key)
        blob.chunk_size = PART_BYTES
        blob.upload_from_file(PieceFile(pieces), size=size, content_type=_KIND, **self._how)

    def get(self, key: str) -> Any:
        return self._read(key)

    def get_range(self, key: str, start: int, length: int) -> Any:
        return self._read(key, start=start, end=start + length - 1)

    def has(self, key: str) -> bool:
        return bool(self._blob(key).exists(**self._how))

    def sizes_below(self, prefix: str) -> Dict[str, int]:
        below = f"{prefix}/" if prefix else ""
        blobs = self._bucket().list_blobs(prefix=below, **self._how)
        return {blob.name[len(below) :]: int(blob.size) for blob in blobs}

    def delete(self, keys: Sequence[str]) -> None:
        from google.api_core.exceptions import NotFound

        def delete(key: str, halt: Halt) -> None:
            with contextlib.suppress(NotFound):
                self._blob(key).delete(**self._how)

        each(delete, keys, DELETED_AT_ONCE)

    @staticmethod
    def fault_of(error: Exception) -> Optional[Fault]:
        from google.api_core.exceptions import GoogleAPICallError, GoogleAPIError
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        text = " ".join(str(error).split()).partition("?")[0]
        if isinstance(error, GoogleAPICallError):
            return Fault(kind_of_status(error.code), text)
        if isinstance(error, GoogleAuthError):
            return Fault(DENIED, text)
        if isinstance(error, (GoogleAPIError, RequestException)):
            return Fault(SERVICE, text)
        return None

    def _read(self, key: str, **part: int) -> bytes:
        from google.api_core.exceptions import NotFound

        try:
            content: bytes = self._blob(key).download_as_bytes(
                raw_download=True, **part, **self._how
            )
        except NotFound as error:
            raise FileNotFoundError(key) from error
        return content

    def _blob(self, key: str) -> Any:
        return self._bucket().blob(key)

    def _bucket(self) -> Any:
        from google.cloud import storage

        bucket = getattr(self._of_thread, "bucket", None)
        if bucket is None:
            client = storage.Client(project=None, credentials=self._credentials)
            bucket = self._of_thread.bucket = client.bucket(self._name)
        return bucket
