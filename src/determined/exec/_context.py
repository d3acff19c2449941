"""The files that a task was submitted with."""

from __future__ import annotations

import os
from typing import Mapping

from determined._constants import run_dir
from determined.common.api._session import BaseSession
from determined.exec._archive import unpack


def fetch(session: BaseSession, env: Mapping[str, str], work_dir: str) -> int:
    """Unpack them into the working directory, and a trial's into `train/model` as well.

    Returns:
        The number of files.

    Raises:
        EntryFailed: the archive is broken or would leave the directory.
    """
    path = f"/api/v1/tasks/{env['DET_TASK_ID']}/context_directory"
    answer = session.get(path).json() or {}
    targets = [work_dir]
    if env["DET_TASK_TYPE"] == "TRIAL":
        targets.insert(0, os.path.join(run_dir(), "train", "model"))
    return unpack(answer.get("b64Tgz") or "", targets)
