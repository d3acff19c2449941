"""Packets between master and agent are dropped, some or all: on a real network of their own."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, Way, until
from tests.e2e.conftest import running
from tests.e2e.faults import Held, is_away
from tests.e2e.network import CannotRun, Namespace, namespace
from tests.e2e.test_fault_agents import IMPATIENT, KEEPALIVE, WINDOW_S, start_in
from tests.e2e.test_kills import check_ledger
from tests.e2e.test_life import ledger_config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = f"""
security: {{allow_process_runtime: true}}
resource_pools:
  - {{pool_name: default, agent_reconnect_wait: 60s}}
  - {{pool_name: hasty, agent_reconnect_wait: {WINDOW_S}s}}
"""
LOSS = 0.2
ENOUGH = 20
"""How many lost packets make the test of them one: it continues until as many were lost."""


@pytest.fixture(scope="module")
def network() -> Iterator[Namespace]:
    try:
        with namespace() as made:
            yield made
    except CannotRun as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def far(network: Namespace) -> Iterator[Cluster]:
    """Two agents of one slot; `agent-0` and its tasks have a network of their own."""

    def prepare(cluster: Cluster) -> None:
        cluster.host = "0.0.0.0"
        cluster.ways = {
            "master": Way(IMPATIENT),
            "agent-0": Way(KEEPALIVE, network.prefix, network.here),
            "agent-1": Way(KEEPALIVE),
        }

    with running(agents=2, slots=1, settings=SETTINGS, prepare=prepare) as made:
        yield made


@pytest.fixture(autouse=True)
def only_the_far_one(far: Cluster) -> Iterator[None]:
    """Work starts on the far agent; each test lets the near one in when it wants to."""
    far.post("/api/v1/agents/agent-1/disable", {"drain": True})
    yield
    far.post("/api/v1/agents/agent-1/enable")
    far.settle()
    until(lambda: far.connected() == ["agent-0", "agent-1"], what="both agents")


def test_where_packets_get_lost_nothing_else_does(far: Cluster, network: Namespace) -> None:
    with network.dropping(LOSS):
        while network.dropped() < ENOUGH:
            given = ledger_config(far, "lossy")
            experiment = far.submit(given, {"t.py": scripts.LEDGER})
            assert far.wait(experiment, 240) == "COMPLETED"
            check_ledger(far, experiment, far.root / "lossy")
            shutil.rmtree(far.root / "lossy")


@covers("scheduling-and-provisioning d.3.window")
def test_a_partition_shorter_than_the_window_costs_nothing(
    far: Cluster, network: Namespace
) -> None:
    held = Held(far, "short cut")
    assert held.began() == "agent-0"
    with network.dropping(1):
        until(lambda: is_away(far, "agent-0"), what="that the master notices")
    until(lambda: not is_away(far, "agent-0"), what="its return")
    assert held.end() == "COMPLETED"
    assert held.runs() == [1]
    assert "the last line of run 1" in held.text()


@covers("scheduling-and-provisioning d.4.resent")
def test_an_end_during_a_partition_is_reported_after_it(far: Cluster, network: Namespace) -> None:
    held = Held(far, "ends cut off")
    assert held.began() == "agent-0"
    with network.dropping(1):
        held.go()
        until(lambda: "ended 1 agent-0" in held.ledger, what="its end")
    assert far.wait(held.id) == "COMPLETED"
    assert held.runs() == [1]
    assert "the last line of run 1" in held.text()


@covers("scheduling-and-provisioning d.3.not_back d.4.unexpected")
def test_after_a_partition_longer_than_the_window_work_continues_elsewhere_alone(
    far: Cluster, network: Namespace
) -> None:
    both = ("agent-0", "agent-1")
    start_in(far, "hasty", *both)
    try:
        held = Held(far, "long cut", resources={"resource_pool": "hasty"})
        assert held.began() == "agent-0"
        far.post("/api/v1/agents/agent-1/enable")
        with network.dropping(1):
            assert held.began(2) == "agent-1"
            assert held.processes("agents/agent-0") != [], "nobody could tell it to end"
        until(lambda: not is_away(far, "agent-0"), what="its return")
        until(lambda: not held.processes("agents/agent-0"), what="the end of what it still had")
        assert held.end() == "COMPLETED"
        assert held.runs() == [1, 2]
        assert held.trial["restarts"] == 0
        assert "did not reconnect within" in held.text()
    finally:
        start_in(far, "default", *both)


def test_a_start_that_is_cut_off_half_way_happens_once(far: Cluster, network: Namespace) -> None:
    """The order leaves while nothing arrives; the agent gets it when it is back, and once."""
    cut = threading.Event()
    with network.dropping(1):
        held = Held(far, "cut start")
        cut.wait(1)  # in which the master gives the order; it cannot know that nobody hears it
    assert held.began() == "agent-0"
    assert held.end() == "COMPLETED"
    assert len([line for line in held.ledger if line.startswith("began")]) == len(held.runs())
