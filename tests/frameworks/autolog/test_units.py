"""The tests of `determined.autolog`, in the environment that `make test-frameworks` makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.frameworks.environment import run_units

pytestmark = pytest.mark.slow


def test_the_tests_with_real_frameworks_pass() -> None:
    run_units(Path(__file__).parent / "units", KERAS_BACKEND="torch")
