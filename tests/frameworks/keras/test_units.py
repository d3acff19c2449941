"""The tests that import Keras, in the environment that `make test-frameworks` makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.frameworks.environment import run_units

UNITS = Path(__file__).parent / "units"

pytestmark = pytest.mark.slow


def test_the_tests_that_import_keras_pass_on_pytorch() -> None:
    run_units(UNITS, KERAS_BACKEND="torch")


def test_a_training_is_saved_and_resumed_on_jax() -> None:
    """It compiles each network, so these are few."""
    run_units(
        UNITS, "-k", "reported_and_saved or epoch_bit_by_bit or class_resumes", KERAS_BACKEND="jax"
    )
