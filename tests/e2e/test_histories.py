"""20 histories, 10^4 events, and each victim killed at some instants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.chaos.run import run_seed

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_nothing_is_lost_doubled_or_left_behind_in_20_histories() -> None:
    counted = _chaos("--seeds", "20", "--events", "200", "--instants", "1")
    assert counted["events"] >= 10_000


@pytest.mark.slow
def test_a_seed_repeats_the_same_history() -> None:
    first, second = run_seed(3, events=200), run_seed(3, events=200)
    assert first == second
    assert first.events >= 200


def _chaos(*arguments: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--jobs", "1", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-20_000:]
    counted: dict[str, float] = json.loads(done.stdout)
    return counted
