"""Random inputs are the same in each run, and no wait depends on the speed of the machine."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, settings


def test_examples_are_the_same_in_each_run_however_slow_the_machine_is() -> None:
    found = settings()
    assert found.derandomize
    assert found.deadline is None, "a machine that is busy takes its time over one"
    assert HealthCheck.too_slow in found.suppress_health_check


def test_pages_are_waited_for_from_outside() -> None:
    """The text of Playwright's own wait is evaluated in the page, whose policy forbids that.

    The first look is an exception, so such a wait failed on slow machines alone.
    """
    root = Path(__file__).parents[2]
    files = [path for folder in ("tests/webui", "bench") for path in (root / folder).rglob("*.py")]
    assert files
    assert [path.name for path in files if "wait_for_function(" in path.read_text()] == []
