"""Two hundred simulated agents at one master's end of the link: orders out, states back."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from bench.simulated_agents import Fleet, settings_for
from tests.agent_link import Listener, OpenDoor, Recorder, identity, order, spec, until

from determined_master.backends.agents.backend import AgentBackend

pytestmark = pytest.mark.slow
AGENTS = 200
STATES = ["STARTING", "RUNNING"]


def backend_on(listener: Listener, events: Recorder, epoch: int) -> AgentBackend:
    backend = AgentBackend(identity(), events, OpenDoor())
    backend.open({}, epoch)
    listener.backend = backend
    return backend


@pytest.fixture
async def fleet(listener: Listener) -> AsyncIterator[Fleet]:
    made = Fleet(settings_for(listener.port), AGENTS, slots=1)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def joined(backend: AgentBackend) -> int:
    return sum(agent.is_connected for agent in backend.agents())


async def start_gang(backend: AgentBackend, fleet: Fleet) -> dict[str, str]:
    """One container on each agent; agents by container."""
    gang = {str(uuid.uuid4()): agent.id for agent in backend.agents()}
    orders = (order(c, spec("pass", ports=(1734,)), agent_id=a) for c, a in gang.items())
    await asyncio.gather(*(backend.start_container(o) for o in orders))
    await until(lambda: fleet.counts()["running"] == AGENTS, what="the gang runs")
    return gang


async def test_a_gang_of_200_starts_reports_each_state_once_and_ends(
    listener: Listener, fleet: Fleet
) -> None:
    events = Recorder()
    backend = backend_on(listener, events, 1)
    await until(lambda: joined(backend) == AGENTS, what="all agents have joined")
    gang = await start_gang(backend, fleet)
    await until(lambda: len(events.changes) == len(STATES) * AGENTS, what="all states")
    told = Counter((report.container_id, report.state) for _, _, report in events.changes)
    assert told == Counter((c, state) for c in gang for state in STATES)
    hosts = {a.host_ip for _, _, r in events.changes for a in r.addresses}
    assert hosts == {agent.address for agent in backend.agents()}
    assert len(hosts) == AGENTS

    await asyncio.gather(*(backend.signal_container(a, c, 9) for c, a in gang.items()))
    await until(lambda: len(events.changes) == 3 * AGENTS, what="all ends")
    await until(lambda: events.complete == set(gang), what="all output")
    counts = fleet.counts()
    assert (counts["running"], counts["started"], counts["killed"]) == (0, AGENTS, AGENTS)
    await asyncio.gather(*(backend.forget_container(a, c) for c, a in gang.items()))
    await until(lambda: not any(agent.reports() for agent in fleet.agents), what="all is removed")


async def test_200_agents_find_a_new_master_at_once_and_keep_what_runs(
    listener: Listener, fleet: Fleet
) -> None:
    events = Recorder()
    first = backend_on(listener, events, 1)
    await until(lambda: joined(first) == AGENTS, what="all agents have joined")
    gang = await start_gang(first, fleet)
    events.keep |= set(gang)
    listener.backend = None
    await first.close()

    second = backend_on(listener, events, 2)
    await until(lambda: joined(second) == AGENTS, what="all agents are back")
    reported = [r for _, reports in events.joined[AGENTS:] for r in reports]
    assert Counter(r.container_id for r in reported) == Counter(list(gang))
    assert {r.state for r in reported} == {"RUNNING"}
    counts = fleet.counts()
    assert (counts["running"], counts["killed"], counts["started"]) == (AGENTS, 0, AGENTS)
    assert events.lost == []
