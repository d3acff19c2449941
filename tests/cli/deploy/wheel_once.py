"""The wheel of this installation, made by the first command of a worker that needs it."""

from __future__ import annotations

import atexit
import functools
import pathlib
import shutil
import tempfile

from determined_deploy.cloud.wheel import build_wheel


def copy_wheel(directory: str) -> pathlib.Path:
    """As `build_wheel`, which takes longer than the rest of a command against an empty cloud."""
    return pathlib.Path(shutil.copy(_built(), directory))


@functools.cache
def _built() -> pathlib.Path:
    directory = tempfile.mkdtemp(prefix="det-wheel-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return build_wheel(directory, may_lack_web_ui=True)
