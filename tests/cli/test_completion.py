"""The Tab key: what the shell function of argcomplete asks `det` for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("det exper", "experiment"),
        ("det e comp", "compare"),
        ("det tensorboard start --temp", "--template"),
    ],
)
def test_nouns_verbs_and_options_are_completed(line: str, completed: str, tmp_path: Path) -> None:
    found = tmp_path / "found"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(found),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = [sys.executable, "-m", "determined.cli"]
    subprocess.run(command, env={**os.environ, **asked}, check=True, timeout=60)
    assert completed in found.read_text().replace("\v", "\n").split()
