"""The extensions that DeepSpeed compiles."""

from __future__ import annotations

from pathlib import Path

from tests.frameworks.environment import frameworks_python


def extension_variables() -> dict[str, str]:
    """Variables of a process that imports DeepSpeed: it compiles in the environment, once."""
    return {"TORCH_EXTENSIONS_DIR": str(Path(frameworks_python()).parents[1] / "extensions")}
