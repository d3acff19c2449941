"""Pages of tasks behind a Gateway, from `/proxy` of a master to the pod.

In memory, and on a real cluster. The Gateway's controller is a stand-in in both.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.backends.kubernetes.gateway.test_gateway import definitions, with_gateway
from tests.backends.kubernetes.objects import options
from tests.backends.kubernetes.resources import resources_installed
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import until
from tests.e2e.pods import KUBECONFIG, Pods, PodsInMemory, with_pools
from tests.e2e.pods_cluster import running_on
from tests.e2e.test_remote_kubernetes import SERVES_A_PAGE, config
from tests.fake_kubernetes.gateway import GatewayController, gateway_object
from tests.free_ports import free_port

from determined.common.api.errors import APIException
from determined_master.backends.kubernetes.client import KubernetesApi
from determined_master.backends.kubernetes.options import Gateway

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("gateway")]


@pytest.fixture(scope="module")
def gateway(pods: Pods) -> Iterator[Gateway]:
    """A Gateway with three ports for tasks, and its controller."""
    made = with_gateway(options(), ports=3).gateway
    assert made is not None
    is_fake = isinstance(pods, PodsInMemory)
    kubeconfig = str(pods.running.kubeconfig) if isinstance(pods, PodsInMemory) else KUBECONFIG
    with controlled(kubeconfig, made, [] if is_fake else definitions()):
        yield made


@contextmanager
def controlled(kubeconfig: str, gateway: Gateway, kinds: list[dict[str, Any]]) -> Iterator[None]:
    """Have a Gateway served from a thread of its own."""
    loop, ready, done = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    failures: list[BaseException] = []

    async def serve() -> None:
        api = KubernetesApi(kubeconfig)
        async with resources_installed(kubeconfig, *kinds):
            path = gateway.path.rpartition("/")[0]
            await api.call("POST", path, body=gateway_object(gateway.name))
            controller = GatewayController(api, gateway.namespace, gateway.name)
            ready.set()
            await done.wait()
            await controller.stop()
            await api.call("DELETE", gateway.path)
            await api.close()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as error:
            failures.append(error)
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=run, name="gateway")
    thread.start()
    ready.wait()
    try:
        assert not failures
        yield
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(done.set)
        thread.join()
    assert not failures


@pytest.fixture(scope="module")
def cluster(pods: Pods, gateway: Gateway) -> Iterator[Cluster]:
    def settings(port: int) -> str:
        found = pods.settings(port)
        found["resource_manager"]["internal_task_gateway"] = {
            "gateway_name": gateway.name,
            "gateway_namespace": gateway.namespace,
            "gateway_ip": gateway.host,
            "gateway_port_range_start": gateway.ports.first,
            "gateway_port_range_end": gateway.ports.last,
        }
        return with_pools(found)

    with running_on(pods, settings) as made:
        yield made


def test_pages_of_two_tasks_are_got_and_a_third_waits_for_a_port(
    cluster: Cluster, pods: Pods
) -> None:
    first, second = (serving(cluster, pods, port) for port in (free_port(), free_port()))
    nodes = [agent["id"] for agent in cluster.get("/api/v1/agents")["agents"]]
    for experiment, port in (first, second):
        assert page(cluster, pods, experiment, port) in nodes
    cluster.kill("master")
    cluster.start_master()
    until(cluster.connected, pods.limit_s, "nodes")
    for experiment, port in (first, second):
        assert page(cluster, pods, experiment, port) in nodes
    wide = serving(cluster, pods, free_port(), free_port())
    text = until(lambda: waits(cluster, wide[0]), pods.limit_s, "the reason")
    assert "all ports from" in text
    assert "internal_task_gateway" in text
    kill(cluster, pods, first[0])
    assert page(cluster, pods, *wide) in nodes
    for experiment, _ in (second, wide):
        kill(cluster, pods, experiment)


def serving(cluster: Cluster, pods: Pods, *ports: int) -> tuple[int, int]:
    """A trial that serves a page at the first of its ports: the experiment, and that port."""
    environment = {
        "proxy_ports": [{"proxy_port": port} for port in ports],
        "environment_variables": [f"PAGES_PORT={ports[0]}"],
    }
    wanted = config(pods, environment=environment)
    return cluster.submit(wanted, {"t.py": SERVES_A_PAGE}), ports[0]


def page(cluster: Cluster, pods: Pods, experiment: int, port: int) -> str:
    """The text of the page, through the master and the Gateway."""
    [trial] = until(lambda: cluster.trials(experiment), what="the trial")

    def text() -> str:
        try:
            return str(cluster.session().get(f"/proxy/{trial['taskId']}:{port}/").text)
        except APIException as error:
            if error.status_code not in (404, 502):  # it has not begun to serve
                raise
            return ""

    return until(text, pods.limit_s, "the page")


def waits(cluster: Cluster, experiment: int) -> str:
    """Why an experiment waits for the Gateway; empty while it does not."""
    why = json.dumps(cluster.get(f"/api/v1/job-queues/{experiment}/why"))
    return why if "waits for a port of Gateway" in why else ""


def kill(cluster: Cluster, pods: Pods, experiment: int) -> None:
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment, pods.limit_s) == "CANCELED"
