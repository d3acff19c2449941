"""The tests that import PyTorch, run where it is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", "")
UNITS = Path(__file__).parent / "units"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TORCH_PYTHON, reason="TORCH_PYTHON names no Python: make test-torch"),
]


def test_the_tests_that_import_pytorch_pass(tmp_path: Path) -> None:
    done = subprocess.run(
        [TORCH_PYTHON, "-m", "pytest", "-q", "-c", str(UNITS / "units.ini"), str(UNITS)],
        capture_output=True,
        text=True,
        timeout=170,
        cwd=tmp_path,  # off a cluster, checkpoints have the code of this directory
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
