"""The cluster that the tests of all frameworks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One agent of two slots; each test makes separate experiments."""
    with running(agents=1, slots=2) as made:
        yield made
