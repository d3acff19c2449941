"""`det deploy local logs`: prints the logs of a cluster's processes."""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Dict, List, Optional

from determined.cli import errors
from determined.cli.output import show
from determined_deploy.local import layout

_PAUSE_S = 0.2


def logs(args: argparse.Namespace) -> None:
    """Print the logs of master and agents, and follow them unless `--no-follow` is given.

    Raises:
        CliError: the cluster does not exist on this machine.
    """
    cluster = layout.cluster_layout(args.cluster_name)
    if not cluster.logs.exists():
        raise errors.CliError(cluster.missing())
    readers: Dict[str, _LogReader] = {}
    while True:
        for path in sorted(cluster.logs.glob("*.log"), key=_master_first):
            if path.stem != "supervisor":
                log = readers.setdefault(path.stem, _LogReader(path))
                for line in log.lines():
                    print(f"[{path.stem}] {line}", flush=not args.no_follow)
        if args.no_follow:
            return
        show.stop_without_reader()
        time.sleep(_PAUSE_S)


class _LogReader:
    """Reads new complete lines of a file, which may be truncated at any time."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._at = 0

    def lines(self) -> List[str]:
        size: Optional[int] = self._path.stat().st_size
        if size is not None and size < self._at:
            self._at = 0
        with open(self._path, "rb") as file:
            file.seek(self._at)
            data = file.read()
        whole, newline, _ = data.rpartition(b"\n")
        self._at += len(whole) + len(newline)
        return whole.decode(errors="replace").split("\n") if newline else []


def _master_first(path: pathlib.Path) -> str:
    return "" if path.stem == "master" else path.stem
