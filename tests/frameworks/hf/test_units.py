"""The tests that import transformers, in the environment that `make test-frameworks` makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).parent / "units"

pytestmark = pytest.mark.slow


def test_the_tests_that_import_transformers_pass() -> None:
    python = os.environ.get("HF_PYTHON")
    assert python, "HF_PYTHON names no Python with transformers: run make test-frameworks ONLY=hf"
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-c", str(UNITS / "units.ini"), str(UNITS)],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
