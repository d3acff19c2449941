"""What a trial serves is reached through the master, also after the master has died."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from socket import create_connection

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.e2e.scripts import SERVES
from tests.free_ports import free_port
from websockets.sync.client import connect

from determined.common.api import tunnels
from determined.common.api._websocket import Refused
from determined.common.api.certs import Cert
from determined.common.api.errors import APIException, NotFoundException

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.kill]


@dataclass
class Served:
    """A trial that serves, and the names of its services."""

    cluster: Cluster
    experiment: int
    task_id: str
    pages: str
    sockets: str
    raw: str

    def get(self, path: str) -> str:
        return self.cluster.session().get(f"/proxy/{self.pages}/{path}").text

    @property
    def way(self) -> tunnels.Way:
        return tunnels.Way(self.cluster.address, Cert(), self.cluster.session().token)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with running() as cluster:
        ports = [free_port() for _ in range(3)]
        proxied = [
            {"proxy_port": ports[0]},
            {"proxy_port": ports[1]},
            {"proxy_port": ports[2], "proxy_tcp": True},
        ]
        config = {
            "entrypoint": "python3 t.py",
            "searcher": {"name": "single", "metric": "loss"},
            "max_restarts": 0,
            "environment": {
                "proxy_ports": proxied,
                "environment_variables": [f"PORTS={' '.join(map(str, ports))}"],
            },
        }
        experiment = cluster.submit(config, {"t.py": SERVES})
        [trial] = until(lambda: cluster.trials(experiment), what="the trial")
        said = []
        for line in cluster.lines(trial["id"]):
            said.append(line["log"])
            if line["log"].strip() == "serving":
                break
        assert "serving" in said[-1], "".join(said)
        task_id = trial["taskId"]
        names = [f"{task_id}:{port}" for port in ports]
        yield Served(cluster, experiment, task_id, *names)


def test_pages_are_got_through_the_master(served: Served) -> None:
    assert served.get("a%2Fb?x=1") == f"/proxy/{served.pages}/a%2Fb?x=1 False"
    big = "x" * 3_000_000
    answer = served.cluster.session().post(f"/proxy/{served.pages}/up", data=big)
    assert answer.text == big.upper()


def test_an_answer_has_one_date(served: Served) -> None:
    token = served.cluster.session().token
    for path in (f"/proxy/{served.pages}/x", "/api/v1/me"):
        connection = HTTPConnection(served.cluster.address.removeprefix("http://"))
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        dates = connection.getresponse().msg.get_all("Date")
        connection.close()
        assert [parsedate_to_datetime(date).tzinfo for date in dates or ()] == [UTC]


def test_a_websocket_is_opened_through_the_master(served: Served) -> None:
    uri = f"ws://127.0.0.1:{served.cluster.port}/proxy/{served.sockets}/"
    own = {"Authorization": f"Bearer {served.cluster.session().token}"}
    with connect(uri, additional_headers=own, proxy=None) as socket:
        socket.send("text")
        assert socket.recv(timeout=60) == "TEXT"
        socket.send(b"bytes" * 50_000)
        assert socket.recv(timeout=60) == b"BYTES" * 50_000


def test_a_local_port_leads_to_the_trial(served: Served) -> None:
    said: list[str] = []
    listener = tunnels.Listener(served.way, served.raw, 0, said.append)
    try:
        for _ in range(2):
            with create_connection(("127.0.0.1", listener.port), 60) as raw:
                raw.sendall(b"over tcp")
                assert raw.recv(100) == b"OVER TCP"
    finally:
        listener.close()
    assert said == []


def test_standard_input_leads_to_the_trial(served: Served) -> None:
    token = served.cluster.session().token
    command = (sys.executable, "-m", "determined.cli.tunnel")
    done = subprocess.run(
        [*command, served.cluster.address, served.raw, "--auth"],
        input=b"typed.",
        capture_output=True,
        timeout=90,
        env=served.cluster._environment() | {"DET_USER_TOKEN": token},
    )
    assert (done.stdout, done.returncode) == (b"TYPED.", 0), done.stderr


def test_without_a_token_a_tunnel_is_refused(served: Served) -> None:
    with pytest.raises(Refused) as refused:
        tunnels.open_tunnel(served.way._replace(token=""), served.raw)
    assert refused.value.status == 401


def test_the_ports_are_shown_with_the_task(served: Served) -> None:
    shown = served.cluster.get("/api/v1/tasks")["allocationIdToSummary"]
    [own] = [s for s in shown.values() if s["taskId"] == served.task_id]
    assert [p["serviceId"] for p in own["proxyPorts"]] == [
        served.pages,
        served.sockets,
        served.raw,
    ]


def test_services_are_there_after_a_restart_and_gone_with_the_trial(served: Served) -> None:
    served.cluster.kill("master")
    served.cluster.start_master()

    def is_back() -> bool:
        try:
            return served.get("again").endswith("again False")
        except NotFoundException:
            return False

    until(is_back, what="the service after the restart")
    served.cluster.post(f"/api/v1/experiments/{served.experiment}/kill")
    assert served.cluster.wait(served.experiment) == "CANCELED"
    with pytest.raises(APIException, match="service not found"):
        served.get("late")
