"""What is tried at random is the same in each run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def test_examples_are_the_same_in_each_run_however_slow_the_machine_is() -> None:
    found = settings()
    assert found.derandomize
    assert found.deadline is None, "a machine that is busy takes its time over one"
    assert HealthCheck.too_slow in found.suppress_health_check
