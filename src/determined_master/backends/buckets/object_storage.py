"""Reads objects of S3, Google and Azure: the only module of the master that uses obstore.

Every call blocks, so it must run in a thread.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from determined_master.backends.buckets.endpoint_guard import (
    EndpointGuard,
    PrivateEndpoint,
    check_public,
)
from determined_master.domain.checkpoints.access import DIRECT, StorageAccess
from determined_master.domain.checkpoints.object_target import ObjectTarget, object_target
from determined_master.domain.errors import FailedPrecondition, Unavailable, Unimplemented

RETRY = timedelta(seconds=15)
"""The answer is awaited."""
PIECE_BYTES = 1024 * 1024


_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")


class ObjectStorage:
    """Buckets by the configuration of checkpoint storage. Call `close` at the end.

    Args:
        access: which buckets the master reads, at which addresses.
    """

    def __init__(self, access: StorageAccess) -> None:
        self._access = access
        self._guard = EndpointGuard()
        self._regions: dict[str, str] = {}

    def close(self) -> None:
        """End the connections to endpoints that users named."""
        self._guard.close()

    def sizes_below(
        self, config: Mapping[str, Any], path: str, most: int | None = None
    ) -> dict[str, int]:
        """Sizes in bytes of the objects below a path, by the rest of their paths.

        Args:
            config: the configuration of checkpoint storage.
            path: the common part of their paths.
            most: objects that are listed; None for all.

        Raises:
            FailedPrecondition: the admin does not allow it.
            Unavailable: the storage refuses or does not answer.
            Unimplemented: its client is not installed.
        """
        target, store = self._open(config)
        prefix = target.key(path)
        with _named(target, f"listing {prefix}"):
            import obstore

            items = (item for page in obstore.list(store, prefix) for item in page)
            return {
                item["path"][len(prefix) + 1 :]: item["size"]
                for item in itertools.islice(items, most)
            }

    def content(
        self, config: Mapping[str, Any], path: str, most_bytes: int | None = None
    ) -> bytes | None:
        """The object at a path, if there is one; its first `most_bytes`, or all of it.

        Errors as `sizes_below`.
        """
        target, store = self._open(config)
        with _named(target, f"reading {target.key(path)}"):
            import obstore

            try:
                found = obstore.get(store, target.key(path))
                if most_bytes is not None and found.meta["size"] > most_bytes:
                    return _first(found.stream(PIECE_BYTES), most_bytes)
                return bytes(found.bytes())
            except FileNotFoundError:
                return None

    def pieces(self, config: Mapping[str, Any], path: str) -> Iterator[bytes]:
        """The object at a path, piece by piece; errors as `sizes_below`, while it is read."""
        target, store = self._open(config)
        with _named(target, f"reading {target.key(path)}"):
            import obstore

            for piece in obstore.get(store, target.key(path)).stream(PIECE_BYTES):
                yield bytes(piece)

    def _open(self, config: Mapping[str, Any]) -> tuple[ObjectTarget, Any]:
        target = object_target(config, os.environ, RETRY)
        try:
            from obstore.store import AzureStore, GCSStore, S3Store
        except ImportError:
            raise Unimplemented(
                f"the master cannot read {target.kind} storage: install obstore where it runs "
                "(pip install 'determined-platform[master]'), or download from the storage itself "
                "(--mode direct)"
            ) from None
        self._access.check_credentials(config, target)
        options = dict(target.options)
        if target.endpoint and not self._access.is_own(config):
            is_allowed = self._access.is_allowed_endpoint(target.endpoint)
            if not is_allowed:
                _check_public(target)
            proxy = self._guard.proxy_for(target.endpoint, may_be_private=is_allowed)
            options["client_options"] = {**options["client_options"], "proxy_url": proxy}
        if target.kind == "s3" and "endpoint" not in options and not _has_region():
            region = self._regions.get(target.name) or region_of_bucket(target.name)
            if region:
                self._regions[target.name] = options["region"] = region
        makers: dict[str, Any] = {"s3": S3Store, "gcs": GCSStore, "azure": AzureStore}
        with _named(target, "opening it"):
            return target, makers[target.kind](target.name, **options)


def _first(pieces: Iterable[Any], size: int) -> bytes:
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) >= size:
            break
    return bytes(content[:size])


def _check_public(target: ObjectTarget) -> None:
    try:
        check_public(target.endpoint)
    except PrivateEndpoint as error:
        text = f"the master does not read {target.address} at {target.endpoint}: {error}, {DIRECT}"
        raise FailedPrecondition(text) from error
    except OSError as error:
        text = f"the master finds no {target.endpoint} of {target.address}: {error.strerror}"
        raise Unavailable(text) from error


def _has_region() -> bool:
    return bool(os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))


def region_of_bucket(bucket: str, url: str = "https://{bucket}.s3.amazonaws.com/") -> str | None:
    """The public region of an Amazon bucket; None when it is unknown."""
    if not _BUCKET.fullmatch(bucket):  # it becomes a part of the host's name
        return None
    request = urllib.request.Request(url.format(bucket=bucket), method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            headers = answer.headers
    except urllib.error.HTTPError as error:  # 403 and 301 have it too
        with error:
            headers = error.headers
    except OSError:
        return None
    return headers.get("x-amz-bucket-region") or None


@contextlib.contextmanager
def _named(target: ObjectTarget, act: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        is_its = type(error).__module__.startswith("obstore")
        if not is_its and not isinstance(error, OSError | ValueError | NotImplementedError):
            raise
        # Without queries, which may be signed, and without long bodies.
        text = re.sub(r"\?[^\s'\"]*", "", str(error).partition("Debug source:")[0])
        reason = " ".join(text.partition("<")[0].split())[:400]
        raise Unavailable(
            f"the checkpoint storage {target.address} failed for the master: {act} failed "
            f"({reason}). Check that it works and that the master may read it, or download from "
            "the storage itself (--mode direct)"
        ) from error
