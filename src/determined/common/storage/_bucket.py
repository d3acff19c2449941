"""Objects in a bucket of S3, Google or Azure, by one of the clients."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Sequence

from determined.common.storage._clients._choice import open_client
from determined.common.storage._clients._interface import (
    BAD_NAME,
    DENIED,
    NO_BUCKET,
    PART_BYTES,
    PARTS_AT_ONCE,
    Fault,
)
from determined.common.storage._manifest import Entry
from determined.common.storage._threads import Halted
from determined.errors import CheckpointStorageError

if TYPE_CHECKING:
    from determined.common.storage._copy import Progress
    from determined.common.storage._options import Target

_REMEDIES = {
    NO_BUCKET: "Check that the bucket exists, and that its name and endpoint_url are correct",
    DENIED: (
        "Check that the credentials (of checkpoint_storage, or else of the machine) allow list, "
        "read, write and delete there"
    ),
    BAD_NAME: "Object storage does not allow this name: rename the file",
}
_OF_SERVICE = (
    "Retries failed too (DET_STORAGE_RETRY_S); check that the service works and can be reached "
    "from this machine"
)


class Bucket:
    """A bucket, or an Azure container. Keys are absolute; callers add the prefix."""

    def __init__(self, target: Target) -> None:
        self._client = open_client(target)
        self.address = target.address

    def put_bytes(self, key: str, content: bytes) -> None:
        """Store an object."""
        with self._named(f"storing {key}"):
            self._client.put(key, content)

    def put_file(self, key: str, path: str, size: int, progress: Progress) -> Entry:
        """Store a file; return the size and hash of the content that was read.

        Args:
            key: the object's key.
            path: the file's path.
            size: the file's size in bytes; from `PART_BYTES` on it is uploaded in parts.
            progress: called with the bytes read.

        Raises:
            OSError: the file cannot be read.
        """
        reading = _Reading(path, progress)
        with self._named(f"storing {key}", reading):
            if size < PART_BYTES:
                self._client.put(key, b"".join(reading))
            else:
                self._client.put_pieces(key, iter(reading), size)
        return reading.entry()

    def get_bytes(self, key: str) -> Optional[bytes]:
        """An object's content; None if it does not exist."""
        with self._named(f"reading {key}"):
            try:
                return bytes(self._client.get(key))
            except FileNotFoundError:
                return None

    def get_into(self, key: str, size: int, put: Callable[[Any], Any]) -> None:
        """Pass an object's content to `put`, in order."""
        with self._named(f"reading {key}"):
            if size > PART_BYTES:
                self._get_parts(key, size, put)
            elif size:
                put(memoryview(self._client.get(key)))

    def has(self, key: str) -> bool:
        """Whether an object with exactly this key exists."""
        with self._named(f"looking at {key}"):
            return self._client.has(key)

    def sizes_below(self, prefix: str) -> Dict[str, int]:
        """Sizes in bytes of the objects below a prefix, by key relative to it."""
        with self._named(f"listing {prefix}"):
            return self._client.sizes_below(prefix)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; missing ones are skipped."""
        for start in range(0, len(keys), 1000):
            batch = list(keys[start : start + 1000])
            with self._named(f"deleting {batch[0]} and {len(batch) - 1} more"):
                self._client.delete(batch)

    def _get_parts(self, key: str, size: int, put: Callable[[Any], Any]) -> None:
        """Fetch parts concurrently, since a single stream is slow."""
        from concurrent.futures import ThreadPoolExecutor

        def part(start: int) -> Any:
            return self._client.get_range(key, start, min(PART_BYTES, size - start))

        starts = iter(range(0, size, PART_BYTES))
        with ThreadPoolExecutor(PARTS_AT_ONCE, thread_name_prefix="det-storage") as pool:
            pending = [pool.submit(part, start) for _, start in zip(range(PARTS_AT_ONCE), starts)]
            try:
                while pending:
                    content = pending.pop(0).result()
                    following = next(starts, None)
                    if following is not None:
                        pending.append(pool.submit(part, following))
                    put(memoryview(content))
            finally:
                for future in pending:
                    future.cancel()

    @contextlib.contextmanager
    def _named(self, act: str, reading: Optional[_Reading] = None) -> Iterator[None]:
        """Convert errors of the service or the network to CheckpointStorageError."""
        try:
            yield
        except CheckpointStorageError:
            raise
        except Exception as error:
            if reading is not None and reading.problem is not None:
                raise reading.problem from None
            fault = self._client.fault_of(error)
            if fault is None and isinstance(error, FileNotFoundError) and error.errno is None:
                fault = Fault(NO_BUCKET, f"there is no {error}")
            if fault is None:
                raise
            text = f"the checkpoint storage {self.address} failed: {act} failed ({fault.reason}). "
            remedy = _REMEDIES.get(fault.kind, _OF_SERVICE)
            raise CheckpointStorageError(None, text + remedy) from error


class _Reading:
    """Reads a file in chunks, and hashes what was read."""

    def __init__(self, path: str, progress: Progress) -> None:
        self._path = path
        self._progress = progress
        self._digest = hashlib.sha256()
        self._size = 0
        self.problem: Optional[Exception] = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            with open(self._path, "rb", buffering=0) as file:
                while True:
                    piece = file.read(4 << 20)
                    if not piece:
                        return
                    self._digest.update(piece)
                    self._size += len(piece)
                    yield piece
                    if self._progress is not None:
                        self._progress(len(piece))
        except (OSError, Halted) as error:
            self.problem = error
            raise

    def entry(self) -> Entry:
        """Size and hash of what was read."""
        return Entry(self._size, self._digest.hexdigest())


def region_of_bucket(
    bucket: str, url: str = "https://{bucket}.s3.amazonaws.com/"
) -> Optional[str]:
    """The region of an Amazon bucket, from a public header; None if not available."""
    import urllib.error
    import urllib.request

    request = urllib.request.Request(url.format(bucket=bucket), method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return _region(answer.headers)
    except urllib.error.HTTPError as error:  # 403 and 301 have the header too
        with error:
            return _region(error.headers)
    except OSError:
        return None


def _region(headers: Any) -> Optional[str]:
    value = headers.get("x-amz-bucket-region")
    return str(value) if value else None
