"""The extensions that DeepSpeed compiles."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.frameworks.environment import frameworks_python

COMPILES_S = 600.0
"""Longer than any extension compiles."""


def extension_variables() -> dict[str, str]:
    """Variables of a process that imports DeepSpeed: it compiles in the environment, once.

    It needs the programs of the environment: `deepspeed` and `ninja`. A process that was killed
    while it compiled has left a lock, for which all later ones would wait.
    """
    programs = Path(frameworks_python()).parent
    extensions = programs.parent / "extensions"
    for lock in extensions.glob("*/lock"):
        if time.time() - lock.stat().st_mtime > COMPILES_S:
            lock.unlink()
    return {
        "TORCH_EXTENSIONS_DIR": str(extensions),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
