"""Constants shared by tasks and launchers: paths, ports, signals, the log format."""

from __future__ import annotations

import os

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"
"""Format of log lines. The master parses the level at the start of a line."""

RUN_DIR = "/run/determined"
"""Directory of the files that the master puts into a container. DET_RUN_DIR overrides it."""

SHARED_FS_PATH = "/determined_shared_fs"
"""Mount point of shared_fs storage in a container. DET_SHARED_FS_PATH overrides it."""

FORWARDED_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH")
"""Signals that each process of the entry chain forwards to the next."""

MAX_SLOTS_PER_AGENT = 16
DTRAIN_SSH_PORT = int(os.environ.get("DTRAIN_SSH_PORT", "12350"))
INTER_TRAIN_PROCESS_COMM_PORT_1 = int(os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_1", "12360"))
INTER_TRAIN_PROCESS_COMM_PORT_2 = int(
    os.environ.get(
        "INTER_TRAIN_PROCESS_COMM_PORT_2",
        str(INTER_TRAIN_PROCESS_COMM_PORT_1 + MAX_SLOTS_PER_AGENT),
    )
)
C10D_PORT = int(os.environ.get("C10D_PORT", "29400"))


def run_dir() -> str:
    """The run directory of this task, as this process sees it."""
    return os.environ.get("DET_RUN_DIR") or RUN_DIR


def shared_fs_path() -> str:
    """The mount point of shared_fs storage, as this process sees it."""
    return os.environ.get("DET_SHARED_FS_PATH") or SHARED_FS_PATH
