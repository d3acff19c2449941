"""The published client, and a task with its harness, over TLS."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.client import MODEL, Client
from tests.compat.conftest import created
from tests.compat.test_harness import entrypoint, submitted
from tests.e2e.cluster import PASSWORD, Cluster
from tests.e2e.conftest import running
from tests.e2e.test_tls import https_files

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

__all__ = ["entrypoint"]


@pytest.fixture(scope="module")
def secure(python: Path) -> Iterator[Cluster]:
    with (
        tempfile.TemporaryDirectory(prefix="det-tls-", dir="/tmp") as directory,
        running(slots=1, https=https_files(Path(directory))) as made,
    ):
        yield made


@pytest.mark.parametrize("trust", ["authority", "noverify"])
def test_the_command_line_works_over_tls(
    python: Path, secure: Cluster, tmp_path: Path, trust: str
) -> None:
    assert secure.https is not None
    client = Client(python, tmp_path / "home", secure.address)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # which win over what it is told
        client.environment.pop(name, None)
    file = str(secure.https.authority) if trust == "authority" else trust
    client.environment["DET_MASTER_CERT_FILE"] = file
    client.det("user", "login", "admin", typed=f"{PASSWORD}\n")
    experiment = created(client.det("experiment", "create", MODEL / "const.yaml", MODEL, "-f"))
    assert secure.wait(experiment) == "COMPLETED"
    assert client.det("agent", "list", "--csv").rows()[0]["Agent ID"] == "agent-0"


def test_the_published_harness_reports_over_tls(secure: Cluster, entrypoint: list[str]) -> None:
    experiment = submitted(secure, entrypoint)
    assert secure.wait(experiment) == "COMPLETED"
    [trial] = secure.trials(experiment)
    assert trial["totalBatchesProcessed"] == 3
