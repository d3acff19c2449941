"""`det` 0.38.1 reaches a port of a trial through our master."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import create_connection

import pytest
from tests.compat.client import Client
from tests.compat.conftest import created
from tests.e2e.cluster import Cluster, until
from tests.e2e.scripts import ANSWERS_ONCE, answered
from tests.free_ports import free_port

from determined.common.api.errors import APIException

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

CONFIG = """
name: serves
entrypoint: python3 train.py
searcher: {{name: single, metric: loss}}
max_restarts: 0
environment:
  environment_variables: [PORT={port}]
  proxy_ports: [{{proxy_port: {port}, proxy_tcp: true}}]
"""


def ask(cluster: Cluster, local: int, port: int) -> None:
    """Ask at the local port once the trial listens: of an early try that client never ends."""

    def is_up() -> bool:
        shown = cluster.get("/api/v1/tasks")["allocationIdToSummary"].values()
        names = [p["serviceId"] for s in shown for p in s["proxyPorts"] if p["port"] == port]
        try:
            create_connection(("127.0.0.1", port), 10).close()
            cluster.session().get(f"/proxy/{names[0]}/")
        except APIException as error:
            return error.status_code == 400  # it is registered, and no page
        except (OSError, IndexError):
            return False
        return False

    until(is_up, what="the trial's port")
    answered(local)


def test_a_published_port_leads_to_the_trial(
    client: Client, cluster: Cluster, tmp_path: Path
) -> None:
    port, local = free_port(), free_port()
    (tmp_path / "train.py").write_text(ANSWERS_ONCE)
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG.format(port=port))
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(ask, cluster, local, port)
        words = ("experiment", "create", config, tmp_path, "-f", "-p", f"{local}:{port}")
        experiment = created(client.det(*words))
        asking.result()
    assert cluster.wait(experiment) == "COMPLETED"
    client.det("experiment", "delete", experiment, "--yes")
