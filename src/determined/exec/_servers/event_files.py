"""The event files that a TensorBoard shows: their sources, and a local mirror of them.

Files in a directory that this task can reach are linked. Files in a bucket are copied, and copied
again when they grow.
Source: task-contract 6.2, 7.4.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from determined._constants import RUN_DIR, run_dir
from determined.common import storage
from determined.exec._log import EntryFailed, log
from determined.tensorboard import get_experiment_sync_path, get_sync_path

LIST_EVERY_S = 20.0
FETCHES_AT_ONCE = 5
EVENT_FILE = "tfevents"
"""A substring of the names of event files."""


class Source(NamedTuple):
    """The files of an experiment or a trial."""

    address: str
    """The address shown in messages."""
    path: str
    """The path below the storage's base, and below the mirror."""
    manager: storage.StorageManager
    directory: Optional[str]
    """The local directory of the files; None if they must be fetched."""


def read_sources(path: str, cluster_id: str) -> List[Source]:
    """Read the sources from the file that the master provides.

    Raises:
        EntryFailed: the file is missing or invalid, or a storage cannot be opened.
    """
    try:
        with open(path, encoding="utf-8") as file:
            rows: List[Dict[str, Any]] = json.load(file)
        return [_source(row, cluster_id) for row in rows]
    except (ValueError, OSError) as error:
        raise EntryFailed(f"the sources of this TensorBoard cannot be read: {error}") from error


class Mirror:
    """A local mirror of the sources, which TensorBoard reads.

    Args:
        sources: the sources to show.
        directory: the mirror's directory, created here; each source is below it at its own path.
    """

    def __init__(self, sources: List[Source], directory: str) -> None:
        self._sources = sources
        self._directory = directory
        self._fetched: Dict[str, int] = {}
        self._failed: Dict[str, str] = {}
        self.has_files = False
        """Whether TensorBoard has a file to show."""
        os.makedirs(directory, mode=0o700, exist_ok=True)
        for source in sources:
            if source.directory is not None:
                _link(source.directory, os.path.join(directory, source.path))

    def refresh(self, ended: Optional[threading.Event] = None) -> None:
        """List the sources and fetch new files. A failure is logged once and retried next time.

        Args:
            ended: stops the refresh when set.
        """
        for source in self._sources:
            if ended is not None and ended.is_set():
                return
            try:
                self._refresh(source)
            except (OSError, ValueError) as error:
                self._log_failure(source, str(error))
            else:
                self._failed.pop(source.address, None)

    def describe(self) -> str:
        """The addresses of the sources, with the errors of the failed ones."""
        return "; ".join(
            f"{s.address} ({self._failed[s.address]})" if s.address in self._failed else s.address
            for s in self._sources
        )

    def _refresh(self, source: Source) -> None:
        if source.directory is not None and self.has_files:
            return  # TensorBoard follows the link itself
        found = source.manager.sizes_below(source.path)
        if source.directory is None:
            self._fetch(source, found)
        if any(EVENT_FILE in os.path.basename(name) for name in found):
            self.has_files = True

    def _fetch(self, source: Source, found: Mapping[str, int]) -> None:
        def fetch(name: str, halt: storage.Halt) -> None:
            path = f"{source.path}/{name}"
            target = os.path.normpath(os.path.join(self._directory, path))
            if not target.startswith(self._directory + os.sep):
                return  # a name that leaves the mirror
            source.manager.download_file(path, target, found[name])
            self._fetched[path] = found[name]

        changed = [
            n for n, size in found.items() if self._fetched.get(f"{source.path}/{n}") != size
        ]
        storage.each(fetch, changed, FETCHES_AT_ONCE)

    def _log_failure(self, source: Source, problem: str) -> None:
        if self._failed.get(source.address) != problem:
            log(f"the files at {source.address} cannot be read: {problem}", "WARNING")
        self._failed[source.address] = problem


def _source(row: Mapping[str, Any], cluster_id: str) -> Source:
    config = row["storage"]
    experiment, trial = str(row["experiment"]), row.get("trial")
    path = (
        get_experiment_sync_path(cluster_id, experiment)
        if trial is None
        else get_sync_path(cluster_id, experiment, str(trial))
    ).as_posix()
    shown = f"experiment {experiment}" + ("" if trial is None else f", trial {trial}")
    if config.get("type") in storage.OBJECT_KINDS:
        name = config.get("bucket") or config.get("container")
        prefix = f"{config['prefix'].strip('/')}/" if config.get("prefix") else ""
        address = f"{config['type']}://{name}/{prefix}{path}"
        return Source(f"{address} ({shown})", path, storage.build(config), None)
    root = _root(row)
    base = storage.base_path(config, root)
    directory = os.path.join(base, path)
    manager = storage.build(config, root)
    return Source(f"{directory} ({shown})", path, manager, directory)


def _root(row: Mapping[str, Any]) -> Optional[str]:
    """The mount point of shared_fs storage; outside a container, the host path itself."""
    if row["storage"].get("type") != "shared_fs":
        return None
    return str(row["storage"]["host_path"] if run_dir() != RUN_DIR else row["root"])


def _link(directory: str, path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if not os.path.lexists(path):
        os.symlink(directory, path)
