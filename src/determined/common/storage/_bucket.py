"""Objects in a bucket of S3, Google or Azure. Only this module uses obstore."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence

from determined.common.storage._manifest import Entry
from determined.common.storage._threads import Halted
from determined.errors import CheckpointStorageError

if TYPE_CHECKING:
    from determined.common.storage._copy import Progress
    from determined.common.storage._options import Target

PART_BYTES = 16 << 20
PARTS_AT_ONCE = 4
MAX_PARTS = 9000
"""S3 allows 10,000."""
INSTALL = "pip install 'determined-platform[storage]'"


class Bucket:
    """A bucket, or an Azure container. Keys are absolute; callers add the prefix."""

    def __init__(self, target: Target) -> None:
        self._store = _open(target)
        self.address = target.address

    def put_bytes(self, key: str, content: bytes) -> None:
        """Store an object."""
        import obstore

        with self._named(f"storing {key}"):
            obstore.put(self._store, key, content, use_multipart=False)

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
        import obstore

        reading = _Reading(path, progress)
        with self._named(f"storing {key}", reading):
            if size < PART_BYTES:
                obstore.put(self._store, key, b"".join(reading), use_multipart=False)
            else:
                obstore.put(
                    self._store,
                    key,
                    iter(reading),
                    use_multipart=True,
                    chunk_size=max(PART_BYTES, -(-size // MAX_PARTS)),
                    max_concurrency=PARTS_AT_ONCE,
                )
        return reading.entry()

    def get_bytes(self, key: str) -> Optional[bytes]:
        """An object's content; None if it does not exist."""
        import obstore

        with self._named(f"reading {key}"):
            try:
                return bytes(obstore.get(self._store, key).bytes())
            except FileNotFoundError:
                return None

    def get_into(self, key: str, size: int, put: Callable[[Any], Any]) -> None:
        """Pass an object's content to `put`, in order."""
        import obstore

        with self._named(f"reading {key}"):
            if size > PART_BYTES:
                self._get_parts(key, size, put)
            elif size:
                put(memoryview(obstore.get(self._store, key).bytes()))

    def has(self, key: str) -> bool:
        """Whether an object with exactly this key exists."""
        import obstore

        with self._named(f"looking at {key}"):
            try:
                obstore.head(self._store, key)
            except FileNotFoundError:
                return False
            return True

    def sizes_below(self, prefix: str) -> Dict[str, int]:
        """Sizes in bytes of the objects below a prefix, by key relative to it."""
        import obstore

        with self._named(f"listing {prefix}"):
            return {
                item["path"][len(prefix) + 1 :]: item["size"]
                for page in obstore.list(self._store, prefix)
                for item in page
            }

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; missing ones are skipped."""
        import obstore

        for start in range(0, len(keys), 1000):
            batch = list(keys[start : start + 1000])
            with self._named(f"deleting {batch[0]} and {len(batch) - 1} more"):
                try:
                    obstore.delete(self._store, batch)
                except FileNotFoundError:  # Google deletes one by one and stops at a missing one
                    for key in batch:
                        with contextlib.suppress(FileNotFoundError):
                            obstore.delete(self._store, key)

    def _get_parts(self, key: str, size: int, put: Callable[[Any], Any]) -> None:
        """Fetch parts concurrently, since a single stream is slow."""
        from concurrent.futures import ThreadPoolExecutor

        import obstore

        def part(start: int) -> Any:
            length = min(PART_BYTES, size - start)
            return obstore.get_range(self._store, key, start=start, length=length)

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
            if not _is_obstores(error):
                raise
            raise CheckpointStorageError(None, self._explain(error, act)) from error

    def _explain(self, error: Exception, act: str) -> str:
        name, reason = type(error).__name__, _reason(error)
        if isinstance(error, FileNotFoundError):
            remedy = "Check that the bucket exists, and that its name and endpoint_url are correct"
        elif name in ("PermissionDeniedError", "UnauthenticatedError"):
            remedy = (
                "Check that the credentials (of checkpoint_storage, or else of the machine) allow "
                "list, read, write and delete there"
            )
        elif isinstance(error, ValueError):
            remedy = "Object storage does not allow this name: rename the file"
        else:
            remedy = (
                "Retries failed too (DET_STORAGE_RETRY_S); check that the service works and can "
                "be reached from this machine"
            )
        text = f"the checkpoint storage {self.address} failed: {act} failed ({reason}). "
        return text + remedy


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


def _open(target: Target) -> Any:
    try:
        from obstore.store import AzureStore, GCSStore, S3Store
    except ImportError as error:
        raise CheckpointStorageError(
            None,
            f"checkpoint storage of type {target.kind} needs the package obstore where the "
            f"task or command runs ({error}): {INSTALL}",
        ) from error
    makers = {"s3": S3Store, "gcs": GCSStore, "azure": AzureStore}
    options = dict(target.options)
    if target.kind == "s3" and "access_key_id" not in options:
        provider = _profile()
        if provider is not None:
            options["credential_provider"] = provider
    try:
        return makers[target.kind](target.name, **options)
    except Exception as error:
        if not _is_obstores(error):
            raise
        text = f"the checkpoint storage {target.address} cannot be opened: {_reason(error)}"
        raise CheckpointStorageError(None, text) from error


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
