"""Storage in a directory that this process can reach."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from typing import Dict, Iterator, Optional, Sequence

from determined._uuid import new_uuid
from determined.common.storage import _files
from determined.common.storage._copy import (
    Progress,
    fetch_files,
    store_files,
    sync_files,
    write_durably,
)
from determined.common.storage._deletion import delete_entries, delete_tree, list_own
from determined.common.storage._faults import FULL, named
from determined.common.storage._files import Selector
from determined.common.storage._manager import Path, StorageManager, checked_uuid
from determined.common.storage._manifest import (
    Entries,
    Manifest,
    manifest_name,
    parse_manifest,
)
from determined.errors import CheckpointNotFound, CheckpointStorageError


class DirectoryStorageManager(StorageManager):
    """Storage in a directory that this process can reach.

    Args:
        base_path: the directory; created by the first write.
    """

    def __init__(self, base_path: Path) -> None:
        self.base_path = os.fspath(base_path)

    def upload(
        self,
        src: Path,
        dst: str,
        paths: Optional[Sequence[str]] = None,
        progress: Progress = None,
    ) -> Entries:
        source = os.fspath(src)
        wanted = list(_files.list_directory(source)) if paths is None else paths
        return store_files(source, self._path(dst), wanted, progress)

    def seal(self, dst: str, manifest: Manifest) -> None:
        with named(f"storing the manifest of checkpoint {dst}", self.base_path):
            write_durably(self._manifest_path(dst), manifest.to_bytes())

    def manifest(self, src: str) -> Optional[Manifest]:
        try:
            with open(self._manifest_path(src), "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return None
        return parse_manifest(src, content)

    def download(
        self,
        src: str,
        dst: Path,
        selector: Selector = None,
        verify: bool = True,
        progress: Progress = None,
    ) -> None:
        found = self.list_paths(src)
        manifest = self.manifest(src) if verify else None
        if manifest is not None:
            _check_sizes(manifest, src, found, selector)
        paths = [path for path in found if selector is None or selector(path)]
        check = None
        if manifest is not None:
            expected = manifest
            check = lambda path, entry: expected.check(src, path, entry)  # noqa: E731
        fetch_files(self._path(src), os.fspath(dst), paths, check, progress)

    def clear(self, tgt: str, globs: Sequence[str]) -> Dict[str, int]:
        manifest = self.readable_manifest(tgt)
        if manifest is not None and not os.path.isdir(self._path(tgt)):
            return {}  # left by an interrupted deletion
        self._existing(tgt)
        with named(f"listing checkpoint {tgt}", self.base_path):
            # Two tasks may delete it concurrently: by its save policy, and with its experiment.
            resources = list_own(self.base_path, tgt)
        files = [path for path in resources if not path.endswith("/")]
        doomed = [path for path in files if _files.matches_any(path, globs)]
        if len(doomed) == len(files) and globs:
            if manifest is None:
                self.write_empty_manifest(tgt)
            with named(f"deleting checkpoint {tgt}", self.base_path):
                delete_tree(self.base_path, tgt)
            return {}
        if doomed:
            smaller = None if manifest is None else manifest.without(doomed)
            # Update the manifest first: it may list too few files, but not too many.
            is_sealed = smaller is None or self._seal_if_room(tgt, smaller)
            with named(f"deleting checkpoint {tgt}", self.base_path):
                delete_entries(self.base_path, tgt, doomed)
                delete_entries(self.base_path, tgt, (p for p in resources if p.endswith("/")))
            if smaller is not None and not is_sealed:
                self.seal(tgt, smaller)
        return self.list_paths(tgt)

    def forget(self, tgt: str) -> None:
        with named(f"deleting checkpoint {tgt}", self.base_path):
            self._remove_manifest(tgt)

    def own_directory(self, dst: str) -> Optional[str]:
        path = self._path(dst)
        with named(f"making the directory of checkpoint {dst}", self.base_path):
            _files.make_dirs(path)
        return path

    def seal_directory(self, dst: str) -> None:
        root = self._path(dst)
        resources = self.list_paths(dst)
        for path in resources:
            if path.endswith("/"):
                with contextlib.suppress(PermissionError):  # owned by another rank's user
                    os.chmod(os.path.join(root, path), 0o777)
        with named(f"reading checkpoint {dst} back", self.base_path):
            files = sync_files(root, resources)
        self.seal(dst, Manifest(files, tuple(p for p in resources if p.endswith("/"))))

    @contextlib.contextmanager
    def restore_path(self, src: str, selector: Selector = None) -> Iterator[pathlib.Path]:
        manifest = self.manifest(src)
        if manifest is not None:
            _check_sizes(manifest, src, self.list_paths(src), selector)
        yield pathlib.Path(self._existing(src))

    def list_paths(self, src: str) -> Dict[str, int]:
        root = self._existing(src)
        with named(f"listing checkpoint {src}", self.base_path):
            return _files.list_directory(root)

    def upload_file(self, src: Path, path: str) -> None:
        target = self._below(path)
        with named(f"storing {path}", self.base_path):
            _files.make_dirs(os.path.dirname(target))
            shutil.copyfile(src, target)

    def sizes_below(self, path: str) -> Dict[str, int]:
        root = self._below(path)
        if not os.path.isdir(root):
            return {}
        with named(f"listing {path}", self.base_path):
            found = _files.list_directory(root)
        return {name: size for name, size in found.items() if not name.endswith("/")}

    def download_file(self, path: str, dst: Path, size: int) -> None:
        with named(f"reading {path}", self.base_path), _files.replacing(dst) as partial:
            shutil.copyfile(self._below(path), partial)

    def delete_below(self, path: str) -> None:
        with named(f"deleting {path}", self.base_path):
            below = os.path.relpath(self._below(path), self.base_path)
            delete_tree(self.base_path, below)

    def validate(self) -> None:
        name = new_uuid()
        folder = self._path(name)
        path = os.path.join(folder, "VALIDATE.txt")
        with named(f"writing {path}", self.base_path):
            try:
                _files.make_dirs(folder)
                with open(path, "w", encoding="ascii") as file:
                    file.write(name)
                with open(path, encoding="ascii") as file:
                    found = file.read()
            finally:
                _files.remove_tree(folder)
        if found != name:
            raise OSError(f"{path}: read back {found!r} where {name!r} was written")

    def _path(self, uuid: str) -> str:
        return os.path.join(self.base_path, checked_uuid(uuid))

    def _manifest_path(self, uuid: str) -> str:
        return os.path.join(self.base_path, manifest_name(checked_uuid(uuid)))

    def _seal_if_room(self, uuid: str, manifest: Manifest) -> bool:
        """As `seal`; return False if the storage is full, since the deletion frees space."""
        try:
            self.seal(uuid, manifest)
        except CheckpointStorageError as error:
            if error.errno not in FULL:
                raise
            return False
        return True

    def _remove_manifest(self, uuid: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._manifest_path(uuid))

    def _below(self, path: str) -> str:
        whole = os.path.normpath(os.path.join(self.base_path, path))
        if not whole.startswith(self.base_path.rstrip("/") + "/"):
            raise ValueError(f"{path!r} is not below the storage's base")
        return whole

    def _existing(self, uuid: str) -> str:
        path = self._path(uuid)
        if os.path.islink(path) or not os.path.isdir(path):
            raise CheckpointNotFound(f"checkpoint {uuid} is not in the storage: no {path}")
        return path


class SharedFSStorageManager(DirectoryStorageManager):
    """Storage on a file system that every agent mounts."""


def _check_sizes(manifest: Manifest, uuid: str, found: Dict[str, int], selector: Selector) -> None:
    paths = [path for path in manifest.files if selector is None or selector(path)]
    manifest.check_sizes(uuid, found, paths)
