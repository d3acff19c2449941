"""Sharded checkpoints: one checkpoint from the directories of several ranks."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

from determined.common.storage import Entries, Entry, list_directory

if TYPE_CHECKING:
    from determined.core._distributed import DistributedContext

T = TypeVar("T")
Resources = Dict[str, int]
METADATA_FILE = "metadata.json"


class UploadPart(NamedTuple):
    """The paths that this rank uploads, and the resources of the whole checkpoint."""

    paths: List[str]
    resources: Resources
    is_first: bool
    """Whether this is the lowest rank that uploads a file."""


class RankFailed(RuntimeError):
    """Another rank failed."""


def agree(dist: DistributedContext, act: Callable[[], T]) -> List[T]:
    """Call a function on every rank; return the results in order of rank.

    Raises:
        Exception: this rank's own error.
        RankFailed: another rank's error. Every rank raises, so no rank waits for a failed one.
    """
    problem: Optional[Exception] = None
    value: Any = None
    try:
        value = act()
    except Exception as error:
        problem = error
    outcomes = dist.allgather((None if problem is None else str(problem) or "failed", value))
    if problem is not None:
        raise problem
    for rank, (text, _) in enumerate(outcomes):
        if text is not None:
            raise RankFailed(f"rank {rank} failed: {text}")
    return [value for _, value in outcomes]


def divide(
    dist: DistributedContext,
    ckpt_dir: Optional[str],
    selector: Optional[Callable[[str], bool]],
) -> UploadPart:
    """Decide which rank uploads which path.

    Without a selector, the lowest of the ranks that share a directory uploads it. A file that
    several ranks have must be the same on all of them; the lowest rank uploads it.

    Raises:
        RuntimeError: no rank has a directory, or files of the same name differ.
    """
    folders = agree(dist, lambda: _identity(dist, ckpt_dir, selector is not None))
    if all(folder is None for folder in folders):
        raise RuntimeError("at least one rank must pass a checkpoint directory")
    is_repeated = selector is None and folders.index(folders[dist.rank]) < dist.rank
    listings = agree(
        dist, lambda: {} if ckpt_dir is None or is_repeated else _select(ckpt_dir, selector)
    )
    owners: Dict[str, List[int]] = {}
    for rank, listing in enumerate(listings):
        for path in listing:
            owners.setdefault(path, []).append(rank)
    shared = sorted(p for p, ranks in owners.items() if len(ranks) > 1 and not p.endswith("/"))
    _check_same(dist, ckpt_dir, shared, owners)
    merged: Resources = {}
    for listing in reversed(listings):
        merged.update(listing)
    mine = [path for path in listings[dist.rank] if owners[path][0] == dist.rank]
    busy = {ranks[0] for ranks in owners.values()}
    first = min(busy) if busy else next(r for r, f in enumerate(folders) if f is not None)
    merged.pop(METADATA_FILE, None)
    return UploadPart([p for p in mine if p != METADATA_FILE], merged, dist.rank == first)


def merge_metadata(parts: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Merge the metadata of all ranks.

    Raises:
        RuntimeError: two ranks have different values for one key.
    """
    merged: Dict[str, Any] = {}
    for rank, part in enumerate(parts):
        _merge_into(merged, part, (), rank)
    return merged


def merge_entries(parts: List[Any]) -> Entries:
    """Merge the files of all ranks; no two ranks have the same path."""
    return {path: Entry(*entry) for part in parts for path, entry in part.items()}


def _identity(
    dist: DistributedContext, ckpt_dir: Optional[str], has_selector: bool
) -> Optional[Tuple[int, ...]]:
    if ckpt_dir is None:
        if has_selector:
            raise RuntimeError("a selector needs a checkpoint directory")
        return None
    if not os.path.isdir(ckpt_dir):
        raise ValueError(f"checkpoint directory {ckpt_dir!r} is not a directory")
    stat = os.stat(ckpt_dir)
    return (
        dist.cross_rank,
        stat.st_dev,
        stat.st_ino,
    )  # device and inode identify a directory only on one host


def _select(ckpt_dir: str, selector: Optional[Callable[[str], bool]]) -> Resources:
    listing = list_directory(ckpt_dir)
    return {p: size for p, size in listing.items() if selector is None or selector(p)}


def _check_same(
    dist: DistributedContext,
    ckpt_dir: Optional[str],
    shared: List[str],
    owners: Dict[str, List[int]],
) -> None:
    if not shared:
        return

    def digests() -> Dict[str, str]:
        mine = [path for path in shared if dist.rank in owners[path]]
        return {path: _digest(os.path.join(ckpt_dir or "", path)) for path in mine}

    found = agree(dist, digests)
    conflicts = [path for path in shared if len({found[rank][path] for rank in owners[path]}) > 1]
    if conflicts:
        named = "; ".join(f"{path} of ranks {owners[path]}" for path in conflicts[:5])
        raise RuntimeError(
            f"{len(conflicts)} files of one checkpoint differ between ranks: {named}. Use "
            "different names, or select these files on one rank only"
        )


def _digest(path: str) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def _merge_into(
    base: Dict[str, Any], part: Dict[str, Any], above: Tuple[str, ...], rank: int
) -> None:
    for key, value in part.items():
        if key not in base:
            base[key] = value
        elif isinstance(base[key], dict) and isinstance(value, dict):
            base[key] = dict(base[key])
            _merge_into(base[key], value, (*above, key), rank)
        elif base[key] != value:
            name = ".".join((*above, str(key)))
            raise RuntimeError(
                f"checkpoint metadata {name!r} is {value!r} on rank {rank} and {base[key]!r} on "
                "a lower rank"
            )
