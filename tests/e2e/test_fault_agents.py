"""Agents that lie, stand still, are cut off, or have a twin: no work lost, no slot given twice."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from tests.covers import covers
from tests.e2e.cluster import JOIN_TOKEN, Cluster, Way, until
from tests.e2e.conftest import running
from tests.e2e.faults import Held, is_away, stopped
from tests.e2e.proxy import LossyProxy
from tests.e2e.test_life import config
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from determined_wire.agent_link import (
    AgentAck,
    ContainerChanged,
    ContainerReport,
    Device,
    Failure,
    ForgetContainer,
    FromMaster,
    Hello,
    Ping,
    Pong,
    Refused,
    SignalContainer,
    StartContainer,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

WINDOW_S = 6
PATIENT = {"resources": {"resource_pool": "patient"}}
"""For work whose agent comes back in time, however busy the machine is."""
SETTINGS = f"""
resource_pools:
  - {{pool_name: default, agent_reconnect_wait: {WINDOW_S}s}}
  - {{pool_name: patient, agent_reconnect_wait: 60s}}
"""
IMPATIENT = {"link": {"ping_after_s": 1.0, "answer_s": 3.0, "probe_s": 1.0}}
KEEPALIVE = {"keepalive": {"ping_s": 1.0, "answer_s": 3.0}}


def prepare(cluster: Cluster) -> None:
    cluster.ways["master"] = Way(IMPATIENT)
    for name in ("agent-0", "agent-1", "twin"):
        cluster.ways[name] = Way(KEEPALIVE)


@pytest.fixture(scope="module")
def hasty() -> Iterator[Cluster]:
    """Two agents of one slot each, on a master that waits some seconds for them."""
    with running(agents=2, slots=1, settings=SETTINGS, prepare=prepare) as made:
        yield made


@pytest.fixture(autouse=True)
def whole(hasty: Cluster) -> Iterator[None]:
    """Each test begins and ends with both agents in."""
    yield
    for name in ("agent-0", "agent-1"):
        process = hasty.processes.get(name)
        if process is None or process.poll() is not None:
            hasty.start_agent(name)
    hasty.settle()
    until(lambda: hasty.connected() == ["agent-0", "agent-1"], what="both agents")


def start_in(cluster: Cluster, pool: str, *agents: str) -> None:
    """Start agents again, in another pool."""
    for agent in agents:
        if agent in cluster.processes:
            cluster.kill(agent)
        way = cluster.ways[agent]
        cluster.ways[agent] = way._replace(options=("--resource-pool", pool))
        cluster.start_agent(agent)
        cluster.ways[agent] = way

    def are_there() -> bool:
        listed = {a["id"]: a for a in cluster.get("/api/v1/agents")["agents"]}
        return all(listed.get(a, {}).get("resourcePools") == [pool] for a in agents)

    until(are_there, what=f"{agents} in {pool}")


@contextmanager
def behind_proxy(cluster: Cluster, agent: str, pool: str = "default") -> Iterator[LossyProxy]:
    """Have an agent reach the master through a proxy only; it starts again, in a pool."""
    proxy, port = LossyProxy(cluster.port), cluster.port_of_agents
    cluster.port_of_agents = proxy.port
    try:
        start_in(cluster, pool, agent)
        cluster.port_of_agents = port
        until(lambda: not is_away(cluster, agent), what=f"{agent} behind a proxy")
        yield proxy
    finally:
        cluster.port_of_agents = port
        if agent in cluster.processes:
            cluster.kill(agent)
        proxy.close()
        cluster.start_agent(agent)


def hello(name: str, devices: tuple[Device, ...]) -> Hello:
    return Hello(
        protocol=1,
        agent_id=name,
        boot_id=f"boot of {name}",
        version="0.0",
        resource_pool="default",
        hostname="far",
        devices=devices,
        runtime="process",
        join_token=JOIN_TOKEN,
    )


def device(number: int, uuid: str = "") -> Device:
    return Device(number, "b", uuid or f"device {number}", "cpu")


def said_to(cluster: Cluster, who: Hello) -> Refused:
    """Why an agent that says this is refused."""
    with connect(f"ws://127.0.0.1:{cluster.port}/agents") as link:
        link.send(msgspec.json.encode(who))
        answer = msgspec.json.decode(link.recv(60), type=FromMaster)
    assert isinstance(answer, Refused)
    return answer


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ((device(0), device(-1)), "the number -1"),
        ((device(0), device(0, "another")), "the number 0 twice"),
        ((device(0), device(1, "device 0")), "the device device 0 twice"),
        (tuple(device(n) for n in range(2000)), "2000 of them"),
    ],
    ids=["negative", "a number twice", "a device twice", "too many"],
)
def test_slots_that_cannot_be_are_refused_with_the_reason(
    hasty: Cluster, devices: tuple[Device, ...], said: str
) -> None:
    answer = said_to(hasty, hello("liar", devices))
    assert answer.is_final
    assert f"agent liar lists slots that cannot be: {said}" in answer.reason
    assert "liar" not in {a["id"] for a in hasty.get("/api/v1/agents")["agents"]}


class Boaster:
    """An agent by hand that says it has 64 slots, and can start nothing on them."""

    def __init__(self, cluster: Cluster) -> None:
        self.starts = 0
        self._connecting = connect(f"ws://127.0.0.1:{cluster.port}/agents")
        self._socket = self._connecting.__enter__()
        self._say(hello("boaster", tuple(device(n) for n in range(64))))
        self._thread = threading.Thread(target=self._serve, name="boaster")
        self._thread.start()

    def _serve(self) -> None:
        try:
            while True:
                self._answer(self._socket.recv())
        except ConnectionClosed:
            return

    def _answer(self, frame: str | bytes) -> None:
        message = msgspec.json.decode(frame, type=FromMaster)
        if isinstance(message, Ping):
            self._say(Pong())
        if isinstance(message, StartContainer):
            self.starts += 1
            text = f"slots {list(message.slot_ids)} are not on this agent, which has none"
            report = ContainerReport(
                message.container_id,
                message.allocation_id,
                "TERMINATED",
                Failure("agent_error", text),
            )
            self._say(ContainerChanged(self.starts, report))
        if isinstance(message, StartContainer | SignalContainer | ForgetContainer):
            self._say(AgentAck(message.number))

    def _say(self, message: Any) -> None:
        self._socket.send(msgspec.json.encode(message))

    def close(self) -> None:
        self._connecting.__exit__(None, None, None)
        self._thread.join()


def test_an_agent_that_can_start_nothing_rests_and_others_do_its_work(hasty: Cluster) -> None:
    """Two slots fit the one that boasts of 64; when that fails they are taken from two agents."""
    boaster = Boaster(hasty)
    try:
        until(lambda: len(hasty.connected()) == 3, what="the boaster")
        given = config("true", resources={"slots_per_trial": 2})
        experiment = hasty.submit(given, {})
        assert hasty.wait(experiment) == "COMPLETED"
        [trial] = hasty.trials(experiment)
        assert trial["restarts"] == 0
        assert "which has none" in hasty.text(trial["id"])
        assert 1 <= boaster.starts <= 3
        waits = hasty.submit(config("true", resources={"slots_per_trial": 40}), {})
        until(lambda: boaster.starts >= 3, what="another try after a rest")
        job = hasty.get(f"/api/v1/experiments/{waits}")["experiment"]["jobId"]
        until(
            lambda: "the last starts failed" in str(hasty.get(f"/api/v1/job-queues/{job}/why")),
            what="the reason",
        )
        assert boaster.starts <= 6, "it is not tried again many times a second"
        hasty.post(f"/api/v1/experiments/{waits}/kill")
        assert hasty.wait(waits) == "CANCELED"
    finally:
        boaster.close()
    until(lambda: len(hasty.get("/api/v1/agents")["agents"]) == 2, what="its departure")


@covers("scheduling-and-provisioning d.1.unknown_pool d.3.must_restart")
def test_an_agent_of_an_unknown_pool_gets_the_list_of_pools(hasty: Cluster) -> None:
    hasty.ways["twin"] = Way(options=("--agent-id", "lost", "--resource-pool", "nowhere"))
    lost = hasty.start_twin("agent-0")
    hasty.ways["twin"] = Way(KEEPALIVE)
    assert lost.wait(60) == 3
    said = hasty.log("twin")
    assert "agent lost wants to join resource pool 'nowhere', which does not exist" in said
    assert "set its option `resource_pool` to one of default" in said


@covers("scheduling-and-provisioning d.1.past_reconnect d.3.not_back d.3.not_counted")
def test_an_agent_that_stands_still_for_longer_than_the_window(hasty: Cluster) -> None:
    """Its work continues elsewhere; when it wakes it ends its old tasks before anything new."""
    held = Held(hasty, "still agent")
    first = held.began()
    other = {"agent-0": "agent-1", "agent-1": "agent-0"}[first]
    with stopped(hasty, first):
        assert held.began(2) == other
        assert held.processes(f"agents/{first}") != []
    until(lambda: not is_away(hasty, first), what="its return")
    until(lambda: not held.processes(f"agents/{first}"), what="the end of what it still had")
    assert held.end() == "COMPLETED"
    assert held.runs() == [1, 2]
    assert held.trial["restarts"] == 0
    text = held.text()
    assert f"agent {first} was lost: it did not reconnect within {WINDOW_S} s" in text


@covers("scheduling-and-provisioning d.4.unexpected")
def test_a_slot_is_free_for_the_next_only_when_the_last_has_left_it(hasty: Cluster) -> None:
    """Both runs on one agent: the second starts there while the first still has to be ended."""
    hasty.post("/api/v1/agents/agent-1/disable", {"drain": True})
    try:
        held = Held(hasty, "same slot")
        assert held.began() == "agent-0"
        with stopped(hasty, "agent-0"):
            until(lambda: held.runs() == [1, 2], what="the second run's request")
        assert held.began(2) == "agent-0"
        assert held.end() == "COMPLETED"
    finally:
        hasty.post("/api/v1/agents/agent-1/enable")


def test_a_master_that_stands_still_for_longer_than_the_window_loses_nobody(
    hasty: Cluster,
) -> None:
    held = Held(hasty, "still master")
    held.began()
    stop = threading.Event()
    with stopped(hasty, "master"):
        stop.wait(WINDOW_S + 4)  # the length of the stop is what is tested
    until(lambda: len(hasty.connected()) == 2, what="both agents")
    assert held.end() == "COMPLETED"
    assert held.runs() == [1]


@covers("scheduling-and-provisioning d.3.liveness")
def test_a_half_open_connection_is_found_and_opened_again(hasty: Cluster) -> None:
    """Neither end is told that the other is out of reach; both notice, and nothing is lost."""
    with behind_proxy(hasty, "agent-0", "patient") as proxy:
        held = Held(hasty, "half-open", **PATIENT)
        assert held.began() == "agent-0"
        proxy.swallow()
        until(lambda: is_away(hasty, "agent-0"), what="that the master notices")
        proxy.heal()
        until(lambda: not is_away(hasty, "agent-0"), what="that the agent dials again")
        assert held.end() == "COMPLETED"
        assert held.runs() == [1]
        assert "the last line of run 1" in held.text()


@contextmanager
def twin_of(cluster: Cluster, agent: str, hostname: str) -> Iterator[None]:
    """Another agent of that id, which reaches the master directly."""
    cluster.ways["twin"] = Way({**KEEPALIVE, "hostname": hostname})
    twin = cluster.start_twin(agent)
    try:
        yield
    finally:
        cluster.ways["twin"] = Way(KEEPALIVE)
        twin.terminate()
        twin.wait()


@pytest.mark.parametrize("is_same_host", [True, False], ids=["same host", "another host"])
def test_two_agents_with_one_id_across_a_partition(hasty: Cluster, is_same_host: bool) -> None:
    """While one is cut off another takes its id; the one that comes back ends what it had.

    One that says it is the same machine has lost its tasks, so it is let in at once. Another
    machine has to wait until the time of the first to come back is over.
    """
    hasty.post("/api/v1/agents/agent-1/disable", {"drain": True})
    hostname = socket.gethostname() if is_same_host else "elsewhere"
    try:
        with behind_proxy(hasty, "agent-0") as proxy:
            held = Held(hasty, f"twins of {hostname}")
            assert held.began() == "agent-0"
            proxy.swallow()
            before = len(hasty.log("twin"))
            with twin_of(hasty, "agent-0", hostname):
                assert held.began(2) == "agent-0"
                assert held.processes("twins") != []
                said = hasty.log("twin")[before:]
                kept_waiting = "which is disconnected and may reconnect" in said
                assert kept_waiting is not is_same_host
                proxy.heal()
                assert hasty.processes["agent-0"].wait(60) == 3
                hasty.processes.pop("agent-0")
                said = hasty.log("agent-0")
                assert "an agent with the id 'agent-0' is connected already" in said
                assert "killing a container that the master has given up" in said
                assert held.processes("agents") == []
                assert held.end() == "COMPLETED"
                until(lambda: not held.processes("twins"), what="the end of the twin's task")
        assert held.runs() == [1, 2]
        assert held.trial["restarts"] == 0
        assert "ended 2 agent-0" in held.ledger
        assert "ended 1 agent-0" not in held.ledger
    finally:
        hasty.post("/api/v1/agents/agent-1/enable")


def test_another_machine_with_its_id_costs_an_agent_that_comes_back_nothing(
    hasty: Cluster,
) -> None:
    start_in(hasty, "patient", "agent-0")
    try:
        held = Held(hasty, "impostor", **PATIENT)
        assert held.began() == "agent-0"
        hasty.kill("agent-0")
        until(lambda: is_away(hasty, "agent-0"), what="that the master notices")
        answer = said_to(hasty, hello("agent-0", (device(0),)))
        assert not answer.is_final
        assert "is disconnected and may reconnect to its tasks" in answer.reason
        assert "this one is host far" in answer.reason
        start_in(hasty, "patient", "agent-0")
        assert held.end() == "COMPLETED"
        assert held.runs() == [1]
    finally:
        start_in(hasty, "default", "agent-0")
