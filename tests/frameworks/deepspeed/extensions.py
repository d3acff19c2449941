"""The extensions that DeepSpeed compiles."""

from __future__ import annotations

import os
from pathlib import Path

from tests.frameworks.environment import frameworks_python


def extension_variables() -> dict[str, str]:
    """Variables of a process that imports DeepSpeed: it compiles in the environment, once.

    It needs the programs of the environment: `deepspeed` and `ninja`.
    """
    programs = Path(frameworks_python()).parent
    return {
        "TORCH_EXTENSIONS_DIR": str(programs.parent / "extensions"),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
