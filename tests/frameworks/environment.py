"""The environment of the frameworks, and the tests that run in it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path


def frameworks_python() -> str:
    """The Python that has the frameworks. Without one, the test fails with the command for it."""
    python = os.environ.get("FRAMEWORKS_PYTHON")
    assert python, "FRAMEWORKS_PYTHON names no Python with frameworks: run make test-frameworks"
    return python


def run_units(units: Path, *options: str, **variables: str) -> None:
    """Run the tests in a directory with that Python; they import the framework."""
    command = [frameworks_python(), "-m", "pytest", "-q", "-c", f"{units / 'units.ini'}"]
    with tempfile.TemporaryDirectory() as place:  # off a cluster, checkpoints have this directory
        done = subprocess.run(
            [*command, *options, units],
            capture_output=True,
            text=True,
            timeout=900,
            cwd=place,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **variables},
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
