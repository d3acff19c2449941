"""Which worker runs which test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = (
    "tests/domain/test_cron.py",
    "tests/domain/test_durations.py",
    "tests/domain/test_life.py",
)


@pytest.mark.slow
def test_all_tests_of_a_file_run_in_one_worker() -> None:
    """What its module shares, a cluster for instance, would else be made in each of them."""
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", *FILES]
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DETERMINED_"))}
    done = subprocess.run(
        command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=300, check=True
    )
    ran = re.findall(r"^\[(gw\d)\].* PASSED ([^:]+)::", done.stdout, re.MULTILINE)
    assert {file for _, file in ran} == set(FILES)
    assert len({worker for worker, _ in ran}) == 2
    assert len(set(ran)) == len(FILES), "a file was run by two workers"
