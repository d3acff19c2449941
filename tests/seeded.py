"""The same draws in each run, for tests that build networks in this process."""

from __future__ import annotations

import random
import sys

import pytest


@pytest.fixture(autouse=True)
def seeds() -> None:
    """Seed Python, NumPy and PyTorch before each test; a network starts with the same weights."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)
