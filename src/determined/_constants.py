"""Names and numbers that tasks and their launchers agree on."""

from __future__ import annotations

import os

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"
"""How our log lines look; the master reads the level from the line's beginning."""

RUN_DIR = "/run/determined"
"""Where a container keeps what the master put there; DET_RUN_DIR moves it."""

SHARED_FS_PATH = "/determined_shared_fs"
"""Where a container sees the host path of shared_fs storage; DET_SHARED_FS_PATH moves it."""

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
    """The directory of this task's files, as this process sees it."""
    return os.environ.get("DET_RUN_DIR") or RUN_DIR


def shared_fs_path() -> str:
    """The root of shared_fs storage, as this process sees it."""
    return os.environ.get("DET_SHARED_FS_PATH") or SHARED_FS_PATH
