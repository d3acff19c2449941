"""docs/flaky.md: rows of tests that exist, each with a cause."""

from __future__ import annotations

from pathlib import Path

from tools.run_tests import PAGE, flaky

ROOT = Path(__file__).parents[2]


def test_every_row_names_a_test_that_exists_and_a_cause() -> None:
    rows = [line for line in (ROOT / PAGE).read_text().splitlines() if line.startswith("| ")]
    assert len(rows) - 1 == len(flaky()), "a row has the form: | `tests/FILE::TEST` | cause |"
    for test, cause in flaky().items():
        file, *_, name = test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text(), test
        assert len(cause) > 10, f"{test} has no cause"
