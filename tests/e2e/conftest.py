"""One cluster a module, in a directory with a short path: sockets are named by it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import Account, Cluster
from tests.e2e.pods import KUBECONFIG, SHARED, WHY_NOT, Pods, pods_of
from tests.prepared_data import copy_prepared_data
from tests.quick_disk import quick_directory

REAL = pytest.mark.skipif(not (KUBECONFIG and SHARED), reason=WHY_NOT)


@contextmanager
def running(
    agents: int = 1,
    slots: int = 2,
    account: Account | None = None,
    prepare: Callable[[Cluster], None] = lambda cluster: None,
    **more: Any,
) -> Iterator[Cluster]:
    """A cluster that is gone at the end; `more` as its class takes it.

    `prepare` is called before anything is started.
    """
    root = Path(tempfile.mkdtemp(prefix="det-e2e-", dir="/tmp"))
    root.chmod(0o711)
    database = quick_directory("det-e2e-")
    (root / "db").symlink_to(database)
    made = Cluster(root, agents, slots, account, **more)
    if account is not None:
        for directory in (root, database):
            os.chown(directory, account.uid, account.gid)
    else:
        copy_prepared_data(root / "db" / "pg")
    try:
        prepare(made)
        made.start()
        yield made
        made.settle()
        assert "a request failed" not in made.log(), made.log()[-20_000:]
    finally:
        left = made.stop()
        shutil.rmtree(database, ignore_errors=True)
        shutil.rmtree(root, ignore_errors=True)
    assert left == [], "processes outlived their cluster"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running() as made:
        yield made


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """Two agents of one slot each."""
    with running(agents=2, slots=1) as made:
        yield made


@pytest.fixture(scope="module", params=["in memory", pytest.param("real", marks=REAL)])
def pods(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pods]:
    """A cluster of Kubernetes in memory, and a real one."""
    with pods_of(request.param, tmp_path_factory.mktemp("kubernetes")) as made:
        yield made
