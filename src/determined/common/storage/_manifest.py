"""The manifest of a checkpoint: sizes and hashes of its files.

It is written last and deleted last: a checkpoint with a manifest is either complete or known to be
damaged. Checkpoints of older harnesses have none and cannot be verified. The manifest is beside
the checkpoint's directory, which thus contains only what was saved.
"""

from __future__ import annotations

import json
import logging
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from determined.errors import CheckpointCorrupted

logger = logging.getLogger("determined.storage")

_VERSION = 1


class Entry(NamedTuple):
    """The expected size and hash of a file."""

    size: int
    sha256: str
    """In hexadecimal, as `sha256sum` prints it."""


Entries = Dict[str, Entry]
"""Entries by path in the checkpoint."""


class Manifest(NamedTuple):
    """All files of a checkpoint, and its directories (each ending with a slash)."""

    files: Mapping[str, Entry]
    directories: Tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Serialize the manifest."""
        body = {
            "version": _VERSION,
            "files": {path: entry._asdict() for path, entry in sorted(self.files.items())},
            "directories": sorted(self.directories),
        }
        return json.dumps(body, indent=1).encode("utf-8")

    def without(self, paths: Iterable[str]) -> Manifest:
        """The manifest without these files and without directories that become empty."""
        gone = set(paths)
        files = {path: entry for path, entry in self.files.items() if path not in gone}
        return Manifest(files, tuple(parents_of(files)))

    def sizes(self) -> Dict[str, int]:
        """All paths with their sizes in bytes; 0 for directories."""
        sizes = dict.fromkeys(self.directories, 0)
        sizes.update({path: entry.size for path, entry in self.files.items()})
        return sizes

    def check_sizes(self, uuid: str, found: Mapping[str, int], paths: Iterable[str]) -> None:
        """Compare the listing of a storage with the manifest.

        Raises:
            CheckpointCorrupted: one of `paths` is missing, or has another size.
        """
        for path in paths:
            entry = self.files[path]
            if path not in found:
                raise CheckpointCorrupted(
                    f"checkpoint {uuid} is damaged: its file {path} ({entry.size} bytes, sha256 "
                    f"{entry.sha256}) is missing from the storage. {REMEDY}"
                )
            if found[path] != entry.size:
                raise CheckpointCorrupted(
                    f"checkpoint {uuid} is damaged: its file {path} has {found[path]} bytes, "
                    f"but {entry.size} were stored (sha256 {entry.sha256}). {REMEDY}"
                )

    def check(self, uuid: str, path: str, found: Entry) -> None:
        """Compare a file that was read with the manifest.

        Raises:
            CheckpointCorrupted: they differ.
        """
        entry = self.files.get(path)
        if entry is not None and entry != found:
            raise CheckpointCorrupted(
                f"checkpoint {uuid} is damaged: its file {path} was stored with {entry.size} "
                f"bytes and sha256 {entry.sha256}, but read with {found.size} bytes and "
                f"sha256 {found.sha256}. {REMEDY}"
            )


REMEDY = (
    "Use another checkpoint or repair the storage; verify=False (--no-verify) skips this check"
)


def manifest_name(uuid: str) -> str:
    """The path of a checkpoint's manifest below the storage's base."""
    return f"{uuid}.manifest.json"


def parse_manifest(uuid: str, content: bytes) -> Optional[Manifest]:
    """Parse a manifest; None if it has a later version.

    Raises:
        CheckpointCorrupted: it is invalid.
    """
    try:
        body: Dict[str, Any] = json.loads(content)
        if body["version"] != _VERSION:
            logger.warning(
                "checkpoint %s is not verified: its manifest has version %s, but this harness "
                "supports version %s",
                uuid,
                body["version"],
                _VERSION,
            )
            return None
        files = {
            str(path): Entry(int(entry["size"]), str(entry["sha256"]))
            for path, entry in body["files"].items()
        }
        return Manifest(files, tuple(map(str, body["directories"])))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointCorrupted(
            f"checkpoint {uuid} is damaged: {manifest_name(uuid)} cannot be read ({error!r}). "
            f"{REMEDY}"
        ) from error


def parents_of(paths: Iterable[str]) -> List[str]:
    """All parent directories of these paths, each ending with a slash."""
    found = set()
    for path in paths:
        head = path.rstrip("/").rpartition("/")[0]
        while head:
            found.add(head + "/")
            head = head.rpartition("/")[0]
    return sorted(found)
