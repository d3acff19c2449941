"""What tests of the agent share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docker_daemon import Daemon, build_image, daemon


@pytest.fixture(scope="session")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A Docker daemon with the test image."""
    with daemon() as made:
        build_image(made, Path(tmp_path_factory.mktemp("image")))
        yield made
