"""What the tests with PyTorch share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import running
from tests.harness.conftest import master, task

__all__ = ["cluster", "master", "task"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One agent of two slots; each test makes experiments of its own."""
    with running(agents=1, slots=2) as made:
        yield made
