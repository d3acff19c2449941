"""The tests that import DeepSpeed, in the environment that `make test-frameworks` makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.frameworks.deepspeed.extensions import extension_variables
from tests.frameworks.environment import run_units

pytestmark = pytest.mark.slow


def test_the_tests_that_import_deepspeed_pass() -> None:
    run_units(Path(__file__).parent / "units", **extension_variables())
