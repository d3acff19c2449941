"""One cluster, and one finished experiment on it, for all tests of the published client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import MODEL, Client, Said, install
from tests.e2e.cluster import PASSWORD, Cluster
from tests.e2e.conftest import running
from tests.environments import NotInstalled

SETTINGS = """\
resource_pools: [{pool_name: default}, {pool_name: rig}]
security: {authz: {rbac_ui_enabled: true}}
webhooks: {signing_key: secret, allowed_networks: [127.0.0.0/8]}
feature_switches: [streaming_updates]
"""


@dataclass(frozen=True)
class Finished:
    """An experiment that was created with `-f` and has ended; `said` is what that printed."""

    id: int
    trial_id: int
    said: Said


@pytest.fixture(scope="session")
def python() -> Path:
    try:
        return install()
    except NotInstalled as reason:
        pytest.skip(f"the published client cannot be installed: {reason}")


@pytest.fixture(scope="session")
def cluster(python: Path) -> Iterator[Cluster]:
    """Two agents of one slot each, and a second pool that has none."""
    with running(agents=2, slots=1, settings=SETTINGS) as made:
        yield made


@pytest.fixture(scope="session")
def client(python: Path, cluster: Cluster) -> Client:
    """The admin, logged in by typing the password."""
    made = Client(python, cluster.root / "home", cluster.address)
    made.det("user", "login", "admin", typed=f"{PASSWORD}\n")
    return made


@pytest.fixture(scope="session")
def finished(client: Client, cluster: Cluster) -> Finished:
    said = client.det("experiment", "create", MODEL / "const.yaml", MODEL, "-f")
    experiment = created(said)
    assert cluster.wait(experiment) == "COMPLETED"
    return Finished(experiment, cluster.trials(experiment)[0]["id"], said)


@pytest.fixture
def experiment(cluster: Cluster, finished: Finished) -> dict[str, Any]:
    """The finished experiment as the API tells it now."""
    found: dict[str, Any] = cluster.get(f"/api/v1/experiments/{finished.id}")["experiment"]
    return found


@pytest.fixture
def trial(cluster: Cluster, finished: Finished) -> dict[str, Any]:
    """Its trial as the API tells it."""
    [found] = cluster.trials(finished.id)
    return found


@pytest.fixture
def checkpoints(cluster: Cluster, finished: Finished) -> list[dict[str, Any]]:
    """Its checkpoints as the API tells them, by step."""
    path = f"/api/v1/experiments/{finished.id}/checkpoints"
    found: list[dict[str, Any]] = cluster.get(path)["checkpoints"]
    assert len(found) == 2
    return sorted(found, key=lambda c: c["metadata"]["steps_completed"])


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A configuration whose trial counts on until it is stopped."""
    text = (MODEL / "const.yaml").read_text().replace("steps: 3", "steps: 100000, nap: 0.05")
    path = tmp_path / "endless.yaml"
    path.write_text(text)
    return path


def created(said: Said) -> int:
    """The id of the experiment that a command has made."""
    found = re.search(r"Created experiment (\d+)", said.out + said.err)
    assert found, said
    return int(found[1])
