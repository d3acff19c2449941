"""What runs containers, shared by all tests of a run; their group keeps them on one worker."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.debian_tree import CannotRun, build_tree
from tests.docker_daemon import Daemon, daemon, import_image, missing
from tests.podman_service import Podman, podman_service
from tests.podman_service import missing as podman_missing


@pytest.fixture(scope="session")
def debian_tree() -> Iterator[Path]:
    """The files of the test image, which may be an image themselves."""
    root = Path(tempfile.mkdtemp(prefix="det-tree-", dir="/tmp"))
    try:
        build_tree(root / "tree")
        yield root / "tree"
    except CannotRun as error:
        pytest.skip(f"no image here: {error}")
    finally:
        shutil.rmtree(root)


@pytest.fixture(scope="session")
def docker(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A Docker daemon with the test image."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"no Docker here: {reason}")
    tree: Path = request.getfixturevalue("debian_tree")
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(daemon())
        except CannotRun as error:
            pytest.skip(f"no Docker here: {error}")
        import_image(made, tree)
        yield made


@pytest.fixture(scope="session")
def podman(request: pytest.FixtureRequest) -> Iterator[Podman]:
    """A Podman service with the test image."""
    reason = podman_missing()
    if reason is not None:
        pytest.skip(f"no Podman here: {reason}")
    tree: Path = request.getfixturevalue("debian_tree")
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(podman_service())
        except CannotRun as error:
            pytest.skip(f"no Podman here: {error}")
        made.import_image(tree)
        yield made
