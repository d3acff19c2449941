"""Command-line arguments of the launchers, and the commands that wrap ranks."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import List, Tuple

from determined._info import ClusterInfo, get_cluster_info

MAX_SOCKET_PATH = 100
HARNESS = ("-m", "determined.exec.harness")
"""Trains a trial class."""


def split_overrides(args: List[str]) -> Tuple[List[str], List[str]]:
    """Split `[OVERRIDES --] SCRIPT` at the first `--`; without `--` there are no overrides."""
    if "--" not in args:
        return [], args
    at = args.index("--")
    return args[:at], args[at + 1 :]


def script_of(args: List[str], usage: str) -> List[str]:
    """The command of each rank, from `--trial module:Class` or a script.

    Raises:
        SystemExit: there is no script, or `--trial` has further arguments.
    """
    if args and args[0].startswith("--trial="):
        args = ["--trial", args[0].partition("=")[2], *args[1:]]
    if args[:1] == ["--trial"]:
        if len(args) != 2:
            raise SystemExit("--trial takes one module:Class and no further arguments")
        warnings.warn(
            "--trial is deprecated: write a script with the trainer", FutureWarning, stacklevel=2
        )
        return [python(), *HARNESS, args[1]]
    if not args:
        raise SystemExit(f"a script is required\nusage: {usage}")
    return args


def require_cluster_info(launcher: str, is_trial: bool = False) -> ClusterInfo:
    """The info of this task.

    Raises:
        SystemExit: this process is not on a cluster, or not in a trial if `is_trial`.
    """
    info = get_cluster_info()
    if info is None:
        raise SystemExit(
            f"{launcher} runs only in tasks of a cluster; elsewhere, start the ranks yourself"
        )
    if is_trial and info.task_type != "TRIAL":
        raise SystemExit(f"{launcher} runs only in trials, not in a task of type {info.task_type}")
    return info


def python() -> str:
    """The Python interpreter of the ranks."""
    return os.environ.get("DET_PYTHON_EXECUTABLE") or "python3"


def pid_server_address(allocation_id: str) -> str:
    """The path of the PID server's socket."""
    path = os.path.join(tempfile.gettempdir(), f"pid_server-{allocation_id}")
    if len(path) <= MAX_SOCKET_PATH:
        return path
    import hashlib

    # Linux limits the path of a socket to 107 bytes.
    return "/tmp/det-" + hashlib.sha256(path.encode()).hexdigest()[:24]


def pid_server_command(
    allocation_id: str, workers: int, on_fail: str = "SIGTERM", on_exit: str = "WAIT"
) -> List[str]:
    """The command prefix that monitors `workers` ranks."""
    return [
        *(python(), "-m", "determined.exec.pid_server"),
        *("--on-fail", on_fail, "--on-exit", on_exit),
        *(pid_server_address(allocation_id), str(workers), "--"),
    ]


def pid_client_command(allocation_id: str) -> List[str]:
    """The command prefix that registers a rank with the PID server."""
    return [
        *(python(), "-m", "determined.exec.pid_client"),
        *(pid_server_address(allocation_id), "--"),
    ]


def wrap_rank_command(rank: str) -> List[str]:
    """The command prefix that marks a rank's output."""
    return [python(), "-m", "determined.launch.wrap_rank", rank, "--"]
