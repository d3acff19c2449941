"""A Kubernetes cluster that gets nodes when pods wait for them, and whose pods are not reached.

One in memory, and a real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, Way
from tests.e2e.cluster_api import until
from tests.e2e.conftest import running
from tests.e2e.pods import HOLLOW, Pods, with_pools
from tests.free_ports import free_port

from determined.common.api.errors import APIException

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster(pods: Pods) -> Iterator[Cluster]:
    def prepare(made: Cluster) -> None:
        made.host = pods.host
        settings = pods.settings(made.port)
        manager = settings["resource_manager"]
        manager["autoscaling"] = {"demand": "pods", "image": "pause:local"}
        manager["reach_tasks"] = "port_forward"
        made.settings = with_pools(settings)
        if pods.tuning:
            made.ways["master"] = Way(pods.tuning)

    with running(agents=0, prepare=prepare) as made:
        until(made.connected, pods.limit_s, "nodes")
        yield made


def config(pods: Pods, **more: Any) -> dict[str, Any]:
    """Of an experiment of one trial."""
    return {
        "name": "remote",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {},
        "checkpoint_storage": {"type": "directory", "container_path": str(pods.shared / "c")},
        **more,
        "environment": {"image": pods.image, **more.get("environment", {})},
    }


def is_placeholder(pod: dict[str, Any]) -> bool:
    return "determined.ai/demand" in pod["metadata"]["labels"]


def asks_for_a_node(pods: Pods) -> list[dict[str, Any]]:
    """The pods for which an autoscaler adds nodes: those that fit nowhere."""
    found = []
    for pod in pods.all():
        conditions = pod.get("status", {}).get("conditions") or ()
        is_unschedulable = any(c.get("reason") == "Unschedulable" for c in conditions)
        if not pod["spec"].get("nodeName") and is_unschedulable:
            found.append(pod)
    return found


def pods_with_room(cluster: Cluster) -> int:
    """How many pods of four slots the nodes hold when they are idle."""
    return sum(len(agent["slots"]) // 4 for agent in cluster.get("/api/v1/agents")["agents"])


def test_a_task_that_fits_nowhere_gets_a_node(cluster: Cluster, pods: Pods) -> None:
    """The test acts as the autoscaler: it adds a node for pods that fit nowhere."""
    if pods.is_real and not HOLLOW:
        pytest.skip("DET_TEST_KUBEMARK names no program of hollow nodes")
    wanted = 4 * pods_with_room(cluster) + 4
    experiment = cluster.submit(
        config(pods, resources={"slots_per_trial": wanted}), {"t.py": scripts.LEDGER}
    )
    until(lambda: asks_for_a_node(pods), pods.limit_s, "a pod that fits nowhere")
    assert 0 < len(pods.all()) < wanted // 4, "others of its pods have room"
    assert all(map(is_placeholder, pods.all())), "some of its pods were started"
    why = cluster.get(f"/api/v1/job-queues/{experiment}/why")
    assert "the cluster was asked for nodes for it at" in json.dumps(why)
    with pods.add_node("grown"):
        of_task = until(
            lambda: [p for p in pods.all() if not is_placeholder(p)], pods.limit_s, "its pods"
        )
        assert of_task
        until(lambda: not any(map(is_placeholder, pods.all())), pods.limit_s, "the withdrawal")
        until(
            lambda: any(p["spec"].get("nodeName") == "grown" for p in pods.all()),
            pods.limit_s,
            "a pod on the new node",
        )
        cluster.post(f"/api/v1/experiments/{experiment}/kill")
        assert cluster.wait(experiment, pods.limit_s) == "CANCELED"
        until(lambda: not pods.all(), pods.limit_s, "removed pods")


def test_nodes_are_not_asked_for_any_more_when_the_task_is_killed(
    cluster: Cluster, pods: Pods
) -> None:
    experiment = cluster.submit(
        config(pods, resources={"slots_per_trial": 80}), {"t.py": scripts.LEDGER}
    )
    lacking = 20 - pods_with_room(cluster)
    until(lambda: len(asks_for_a_node(pods)) >= lacking, pods.limit_s, "a placeholder for each")
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    until(lambda: not pods.all(), pods.limit_s, "the withdrawal")


def test_a_task_runs_beside_one_that_waits_for_nodes(cluster: Cluster, pods: Pods) -> None:
    """Nobody adds a node: the autoscaler is at its maximum."""
    wide = cluster.submit(
        config(pods, resources={"slots_per_trial": 80}), {"t.py": scripts.LEDGER}
    )
    until(lambda: asks_for_a_node(pods), pods.limit_s, "a pod that fits nowhere")
    other = cluster.submit(
        config(pods, resources={"slots_per_trial": 4}), {"t.py": "print('here')"}
    )
    assert cluster.wait(other, pods.limit_s) == "COMPLETED"
    cluster.post(f"/api/v1/experiments/{wide}/kill")
    assert cluster.wait(wide, pods.limit_s) == "CANCELED"
    until(lambda: not pods.all(), pods.limit_s, "the withdrawal")


SERVES_A_PAGE = """
import http.server, os
class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["DET_AGENT_ID"].encode())
http.server.HTTPServer(("0.0.0.0", int(os.environ["PAGES_PORT"])), Pages).serve_forever()
"""


def test_a_page_of_a_task_is_got_through_the_api_server(cluster: Cluster, pods: Pods) -> None:
    port = free_port()
    environment = {
        "proxy_ports": [{"proxy_port": port}],
        "environment_variables": [f"PAGES_PORT={port}"],
    }
    wanted = config(pods, environment=environment)
    experiment = cluster.submit(wanted, {"t.py": SERVES_A_PAGE})
    [trial] = until(lambda: cluster.trials(experiment), what="the trial")

    def page() -> str:
        try:
            return str(cluster.session().get(f"/proxy/{trial['taskId']}:{port}/").text)
        except APIException as error:
            if error.status_code not in (404, 502):  # it has not begun to serve
                raise
            return ""

    served_by = until(page, pods.limit_s, "the page")
    assert served_by in [agent["id"] for agent in cluster.get("/api/v1/agents")["agents"]]
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment, pods.limit_s) == "CANCELED"
