"""What runs containers, shared by all tests of a run; their group keeps them on one worker."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import pytest
from tests.debian_tree import CannotRun, build_tree
from tests.docker_daemon import Daemon, daemon, import_image, missing
from tests.lent_docker import lent_daemon
from tests.podman_service import Podman, podman_service
from tests.podman_service import missing as podman_missing

R = TypeVar("R")


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


@contextlib.contextmanager
def with_image(
    request: pytest.FixtureRequest,
    name: str,
    reason: str | None,
    start: Callable[[], AbstractContextManager[R]],
    import_image: Callable[[R, Path], None],
) -> Iterator[R]:
    """What runs containers, with the test image; the test is skipped where it cannot run."""
    if reason is not None:
        pytest.skip(f"no {name} here: {reason}")
    tree: Path = request.getfixturevalue("debian_tree")
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(start())
        except CannotRun as error:
            pytest.skip(f"no {name} here: {error}")
        import_image(made, tree)
        yield made


@pytest.fixture(scope="session")
def docker(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A Docker daemon with the test image."""
    with with_image(request, "Docker", missing(), daemon, import_image) as made:
        yield made


@pytest.fixture(scope="session")
def usable_docker(request: pytest.FixtureRequest) -> Daemon:
    """The same; for a user the daemon that root has lent, which tests neither end nor start."""
    made = lent_daemon()
    return request.getfixturevalue("docker") if made is None else made


@pytest.fixture(scope="session")
def podman(request: pytest.FixtureRequest) -> Iterator[Podman]:
    """A Podman service with the test image."""
    start, add = podman_service, Podman.import_image
    with with_image(request, "Podman", podman_missing(), start, add) as made:
        yield made
