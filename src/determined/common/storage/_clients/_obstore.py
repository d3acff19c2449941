"""Objects by obstore. Only this module uses it."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence

from determined.common.storage._clients._interface import (
    BAD_NAME,
    DENIED,
    NO_BUCKET,
    PART_BYTES,
    PARTS_AT_ONCE,
    SERVICE,
    Fault,
    ObjectClient,
)

if TYPE_CHECKING:
    from determined.common.storage._options import Target

MAX_PARTS = 9000
"""S3 allows 10,000."""


class ObstoreClient(ObjectClient):
    """All three clouds."""

    def __init__(self, target: Target) -> None:
        from obstore.store import AzureStore, GCSStore, S3Store

        makers: Dict[str, Any] = {"s3": S3Store, "gcs": GCSStore, "azure": AzureStore}
        options = dict(target.options)
        if target.kind == "s3" and "access_key_id" not in options:
            provider = _profile()
            if provider is not None:
                options["credential_provider"] = provider
        try:
            self._store: Any = makers[target.kind](target.name, **options)
        except Exception as error:
            if self.fault_of(error) is None or not _has_set_authorities():
                raise
            self._store = makers[target.kind](target.name, **options)

    def put(self, key: str, content: bytes) -> None:
        import obstore

        obstore.put(self._store, key, content, use_multipart=False)

    def put_pieces(self, key: str, pieces: Iterator[bytes], size: int) -> None:
        import obstore

        obstore.put(
            self._store,
            key,
            pieces,
            use_multipart=True,
            chunk_size=max(PART_BYTES, -(-size // MAX_PARTS)),
            max_concurrency=PARTS_AT_ONCE,
        )

    def get(self, key: str) -> Any:
        import obstore

        return obstore.get(self._store, key).bytes()

    def get_range(self, key: str, start: int, length: int) -> Any:
        import obstore

        return obstore.get_range(self._store, key, start=start, length=length)

    def has(self, key: str) -> bool:
        import obstore

        try:
            obstore.head(self._store, key)
        except FileNotFoundError:
            return False
        return True

    def sizes_below(self, prefix: str) -> Dict[str, int]:
        import obstore

        return {
            item["path"][len(prefix) + 1 :]: item["size"]
            for page in obstore.list(self._store, prefix)
            for item in page
        }

    def delete(self, keys: Sequence[str]) -> None:
        import obstore

        try:
            obstore.delete(self._store, list(keys))
        except FileNotFoundError:  # Google deletes one by one and stops at a missing one
            for key in keys:
                with contextlib.suppress(FileNotFoundError):
                    obstore.delete(self._store, key)

    @staticmethod
    def fault_of(error: Exception) -> Optional[Fault]:
        if not _is_obstores(error):
            return None
        kind = SERVICE
        if isinstance(error, FileNotFoundError):
            kind = NO_BUCKET
        elif type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError"):
            kind = DENIED
        elif isinstance(error, ValueError):
            kind = BAD_NAME
        return Fault(kind, _reason(error))


def _has_set_authorities() -> bool:
    """Name a file of certificate authorities, which small images do not have.

    Without any, not even a store at an http address can be opened.
    """
    if os.environ.get("SSL_CERT_FILE"):
        return False
    try:
        import certifi
    except ImportError:
        return False
    os.environ["SSL_CERT_FILE"] = certifi.where()
    return True


def _profile() -> Any:
    """Credentials from ~/.aws, which need boto3; None without them."""
    home = os.path.expanduser("~/.aws")
    if os.environ.get("AWS_ACCESS_KEY_ID") or not os.path.isdir(home):
        return None
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return Boto3CredentialProvider()
    except (ImportError, ValueError):
        return None


def _is_obstores(error: Exception) -> bool:
    """Whether obstore raised it: its own errors, and built-in ones without an errno."""
    if type(error).__module__.startswith("obstore"):
        return True
    if isinstance(error, OSError):
        return error.errno is None
    return isinstance(error, (ValueError, NotImplementedError))


def _reason(error: Exception) -> str:
    """The message without URL queries (which may be signed) and response bodies."""
    text = str(error).partition("Debug source:")[0]
    code: List[str] = re.findall(r"<Code>(\w+)</Code>", text)
    text = re.sub(r"\?[^\s'\"]*", "", text.partition("<")[0])
    return " ".join([*text.split(), *code])[:400].rstrip(" :")
