"""`det deploy local logs`: the logs of a cluster's processes, one line after the other."""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import time
from typing import Dict, List, Optional

from determined.cli import errors
from determined.cli.deploy import layout
from determined.cli.output import show

_PAUSE_S = 0.2


def logs(args: argparse.Namespace) -> None:
    """Print the logs of master and agents, and unless `--no-follow` what comes to them.

    Raises:
        CliError: this machine has no such cluster.
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


def rotate(log: str, limit_bytes: int, keep: int) -> bool:
    """Move a log past `limit_bytes` to `<log>.1`, older ones up to `<log>.<keep>`.

    The writer has the file open for appending, so it is copied and then emptied in place;
    lines written in between (a few, once a file) are lost from the log, never from a task.

    Returns:
        Whether the log was over its limit.
    """
    try:
        if os.stat(log).st_size <= limit_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(keep - 1, 0, -1):
        if os.path.exists(f"{log}.{number}"):
            os.replace(f"{log}.{number}", f"{log}.{number + 1}")
    shutil.copyfile(log, f"{log}.1")
    os.chmod(f"{log}.1", 0o600)
    os.truncate(log, 0)
    return True


class _LogReader:
    """New whole lines of a file that may be emptied meanwhile."""

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
