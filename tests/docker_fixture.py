"""The Docker daemon that all tests of a run share; their group keeps them on one worker."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docker_daemon import CannotRun, Daemon, build_image, daemon


@pytest.fixture(scope="session")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A Docker daemon with the test image."""
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(daemon())
            build_image(made, Path(tmp_path_factory.mktemp("image")))
        except CannotRun as error:
            pytest.skip(f"no Docker here: {error}")
        yield made
