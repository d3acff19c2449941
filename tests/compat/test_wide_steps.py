"""The published package reports, and reads, steps that 32 bits do not hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.client import Client
from tests.e2e.cluster import PASSWORD

from determined_wire.bounds import MAX_STEPS

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


@pytest.mark.parametrize("steps", [3_000_000_000, MAX_STEPS])
def test_a_program_reports_and_reads_large_steps(
    client: Client, tmp_path: Path, steps: int
) -> None:
    answers = client.script("sdk_wide_steps.py", "admin", PASSWORD, tmp_path, steps)
    trial_id = answers.pop("trial")
    assert answers == {
        "training": [steps - 1, steps],
        "validation": [steps],
        "checkpoint": steps,
        "total": steps,
        "series": [steps - 1, steps],
        "workloads": [steps - 1, steps, steps, steps],
    }
    assert str(steps) in client.det("trial", "describe", "--json", trial_id).out
