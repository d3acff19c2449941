"""Storage in a bucket: S3, Google Cloud Storage, Azure Blob Storage.

A checkpoint's files are objects below `prefix/uuid/`. Directories are not stored as objects; the
manifest lists them. Older harnesses stored an empty object `directory/` for each. It is read as a
directory and never deleted, since the client does not support such names.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import tempfile
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

from determined._uuid import new_uuid
from determined.common.storage._clients._interface import PART_BYTES
from determined.common.storage._copy import Progress, halting, writing
from determined.common.storage._files import (
    Selector,
    list_directory,
    matches_any,
    replacing,
    with_parents,
)
from determined.common.storage._manager import Path, StorageManager, checked_uuid
from determined.common.storage._manifest import (
    Entries,
    Entry,
    Manifest,
    manifest_name,
    parents_of,
    parse_manifest,
)
from determined.common.storage._threads import Halt, each
from determined.errors import CheckpointNotFound, CheckpointStorageError

if TYPE_CHECKING:
    from determined.common.storage._bucket import Bucket

T = TypeVar("T")
SMALL_AT_ONCE = 16
LARGE_AT_ONCE = 3


class ObjectStorageManager(StorageManager):
    """Storage in a bucket.

    Args:
        bucket: the bucket.
        prefix: the prefix of all keys, without leading and trailing slashes.
    """

    def __init__(self, bucket: Bucket, prefix: str = "") -> None:
        self._bucket = bucket
        self._prefix = prefix

    def upload(
        self,
        src: Path,
        dst: str,
        paths: Optional[Sequence[str]] = None,
        progress: Progress = None,
    ) -> Entries:
        source = os.fspath(src)
        wanted = list(list_directory(source)) if paths is None else paths
        files = [path for path in wanted if not path.endswith("/")]

        def put(path: str, halt: Halt) -> Entry:
            moved = halting(progress, halt)
            whole = os.path.join(source, path)
            return self._bucket.put_file(self._key(dst, path), whole, sizes[path], moved)

        sizes = {path: os.stat(os.path.join(source, path)).st_size for path in files}
        return dict(_each_by_size(put, sizes))

    def seal(self, dst: str, manifest: Manifest) -> None:
        self._bucket.put_bytes(self._manifest_key(dst), manifest.to_bytes())

    def manifest(self, src: str) -> Optional[Manifest]:
        content = self._bucket.get_bytes(self._manifest_key(src))
        return None if content is None else parse_manifest(src, content)

    def download(
        self,
        src: str,
        dst: Path,
        selector: Selector = None,
        verify: bool = True,
        progress: Progress = None,
    ) -> None:
        manifest = self.manifest(src)
        found = self._listed(src, manifest)
        target = os.fspath(dst)
        paths = [path for path in found if selector is None or selector(path)]
        if verify and manifest is not None:
            wanted = [path for path in manifest.files if selector is None or selector(path)]
            manifest.check_sizes(src, found, wanted)
        os.makedirs(target, exist_ok=True)
        for path in sorted(with_parents(paths)):
            if path.endswith("/"):
                os.makedirs(os.path.join(target, path), exist_ok=True)

        def get(path: str, halt: Halt) -> None:
            digest = hashlib.sha256()
            moved = halting(progress, halt)
            with writing(os.path.join(target, path)) as put:

                def take(piece: Any) -> None:
                    digest.update(piece)
                    put(piece)
                    moved(len(piece))

                self._bucket.get_into(self._key(src, path), found[path], take)
                if verify and manifest is not None:
                    manifest.check(src, path, Entry(found[path], digest.hexdigest()))

        _each_by_size(get, {path: found[path] for path in paths if not path.endswith("/")})

    def clear(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        manifest = self.readable_manifest(tgt)
        found = self._listed(tgt, manifest, is_damage_known=True)
        files = [path for path in found if not path.endswith("/")]
        doomed = [path for path in files if matches_any(path, globs)]
        if len(doomed) == len(files) and globs:
            if manifest is None:
                self.write_empty_manifest(tgt)
            self._bucket.delete([self._key(tgt, path) for path in doomed])
            return {}
        if not doomed:
            return found
        if manifest is not None:  # first, since a manifest may list too few files
            self.seal(tgt, manifest.without(doomed))
        self._bucket.delete([self._key(tgt, path) for path in doomed])
        left = {path: found[path] for path in files if path not in set(doomed)}
        return {**dict.fromkeys(parents_of(left), 0), **left}

    def forget(self, tgt: str) -> None:
        # Last, so that remaining files are never taken for a complete checkpoint.
        self._bucket.delete([self._manifest_key(tgt)])

    @contextlib.contextmanager
    def restore_path(self, src: str, selector: Selector = None) -> Iterator[pathlib.Path]:
        with tempfile.TemporaryDirectory(prefix="determined-checkpoint-") as folder:
            self.download(src, folder, selector)
            yield pathlib.Path(folder)

    def list_paths(self, src: str) -> Dict[str, int]:
        return self._listed(src, self.manifest(src))

    def upload_file(self, src: Path, path: str) -> None:
        whole = os.fspath(src)
        self._bucket.put_file(self._below(path), whole, os.stat(whole).st_size, None)

    def sizes_below(self, path: str) -> Dict[str, int]:
        return self._bucket.sizes_below(self._below(path))

    def download_file(self, path: str, dst: Path, size: int) -> None:
        with replacing(dst) as partial, writing(partial) as put:
            self._bucket.get_into(self._below(path), size, put)

    def delete_below(self, path: str) -> None:
        base = self._below(path)
        found = self._bucket.sizes_below(base)
        self._bucket.delete([f"{base}/{key}" for key in found])

    def validate(self) -> None:
        name = new_uuid()
        key = self._key(name, "VALIDATE.txt")
        content = name.encode("ascii")
        self._bucket.put_bytes(key, content)
        try:
            found = self._bucket.get_bytes(key)
        finally:
            self._bucket.delete([key])
        if found != content:
            raise CheckpointStorageError(
                None, f"{self._bucket.address}: read back {found!r} where {content!r} was written"
            )

    def _listed(
        self, uuid: str, manifest: Optional[Manifest], is_damage_known: bool = False
    ) -> Dict[str, int]:
        """Sizes of files by path, with directories from the manifest or the files' paths."""
        found = self._bucket.sizes_below(self._below(checked_uuid(uuid)))
        # An empty manifest means that the checkpoint was cleared.
        is_bare = manifest is not None and bool(manifest.directories) and not manifest.files
        is_known = is_bare or (manifest is not None and is_damage_known)
        if not found and not is_known:
            raise CheckpointNotFound(
                f"checkpoint {uuid} is not in the storage: there are no objects at "
                f"{self._bucket.address}/{uuid}"
            )
        folders = set(parents_of(found))
        if manifest is not None:
            folders |= set(manifest.directories)
        else:
            folders |= {f"{path}/" for path in self._markers(uuid, found, folders)}
        files = {path: size for path, size in found.items() if f"{path}/" not in folders}
        return {**dict.fromkeys(sorted(folders), 0), **files}

    def _markers(self, uuid: str, found: Dict[str, int], folders: set[str]) -> List[str]:
        """Directory markers of older harnesses, which are listed as empty files."""
        empty = [p for p, size in found.items() if not size and f"{p}/" not in folders]
        has = each(lambda path, _: self._bucket.has(self._key(uuid, path)), empty)
        return [path for path, is_file in zip(empty, has) if not is_file]

    def _key(self, uuid: str, path: str) -> str:
        return self._below(f"{checked_uuid(uuid)}/{path}")

    def _manifest_key(self, uuid: str) -> str:
        return self._below(manifest_name(checked_uuid(uuid)))

    def _below(self, path: str) -> str:
        return f"{self._prefix}/{path}" if self._prefix else path


def _each_by_size(act: Callable[[str, Halt], T], sizes: Mapping[str, int]) -> List[Tuple[str, T]]:
    """Transfer many small files at a time, to hide latency, but few large ones."""
    small = [path for path, size in sizes.items() if size < PART_BYTES]
    large = [path for path, size in sizes.items() if size >= PART_BYTES]
    done = list(zip(small, each(act, small, SMALL_AT_ONCE)))
    return done + list(zip(large, each(act, large, LARGE_AT_ONCE)))
