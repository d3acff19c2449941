"""The obstore that a cluster brings into its tasks: beside the harness, or from the master.

It is the last on the search path, so packages of the image come before it.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import shutil
import sys
import tarfile
import tempfile
from typing import Iterator, Optional

from determined._constants import run_dir

FOLDER = "storage-client"
"""Beside the package `determined`, and in the task's run directory."""


@contextlib.contextmanager
def importable() -> Iterator[None]:
    """Put it on the search path, and take it off again if it cannot be imported.

    Raises:
        ImportError: the cluster brings none.
    """
    folder = _beside_harness() or _from_master()
    sys.path.append(folder)
    try:
        yield
    except ImportError:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
        raise


def is_in_task() -> bool:
    """Whether this process runs in a task of a cluster."""
    return bool(os.environ.get("DET_MASTER") and os.environ.get("DET_SESSION_TOKEN"))


def _beside_harness() -> Optional[str]:
    import determined

    folder = os.path.join(os.path.dirname(os.path.dirname(determined.__file__)), FOLDER)
    return folder if os.path.isdir(folder) else None


def _from_master() -> str:
    """Where the master's copy lies; one process of the container fetches it."""
    folder = os.path.join(run_dir(), FOLDER)
    if os.path.isdir(folder):
        return folder
    if not is_in_task():
        raise ImportError("this is no task of a cluster")
    content = _fetch()
    try:
        scratch = tempfile.mkdtemp(prefix=f".{FOLDER}-", dir=run_dir())
    except OSError:  # of another account: every process has its own
        folder = scratch = tempfile.mkdtemp(prefix=f"determined-{FOLDER}-")
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for member in archive:
            source = archive.extractfile(member)
            if source is not None:
                path = os.path.join(scratch, os.path.normpath("/" + member.name).lstrip("/"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with source, open(path, "wb") as file:
                    shutil.copyfileobj(source, file)
    if scratch != folder:
        os.chmod(scratch, 0o755)
        try:
            os.rename(scratch, folder)
        except OSError:  # another process was first
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _fetch() -> bytes:
    from determined.common.api import errors
    from determined.common.api._task_session import TaskSession

    try:
        session = TaskSession.from_environment(os.environ)
        content: bytes = session.get(f"/task/storage-client/{platform.machine()}").content
    except (errors.BadRequestException, errors.MasterNotFoundException, ValueError) as error:
        raise ImportError(f"the master gives none: {error}") from error
    return content
