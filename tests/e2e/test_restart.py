"""The master, the agents and the database stop at any point; everything continues where it was.

Every case of a restart (task contract 1.14), of a connection that was lost (8.4, scheduling d.3)
and of containers that are found again (8.5, d.4), and below each the test that proves it.

1.14 an experiment that runs continues, with its search
    test_a_search_survives_five_kills
1.14 an allocation whose agent and container are there continues, in the same run
    test_running_work_survives_two_restarts_within_the_window
1.14 one that waits for slots waits on, in its place
    test_queued_work_keeps_its_place
1.14, 8.4 one that was given slots, and whose order got lost, is ordered again and starts once
    test_orders_to_a_crashed_agent_start_when_it_reconnects
1.14 a trial that is asked to leave is still asked, saves its work and rests
    test_one_that_is_asked_to_leave_still_leaves_with_its_work
1.14, 8.4 a trial that was killed meanwhile ends when its agent is back
    test_one_that_was_killed_while_its_agent_was_away_ends_when_it_is_back
1.14, d.3 of an agent that does not come back all work starts elsewhere; no restart is counted
    test_work_of_a_missing_agent_starts_elsewhere_and_counts_no_restart
1.14, 8.5, d.4 a container that is gone from its machine starts again; no restart is counted
    test_work_of_a_missing_container_starts_again_and_counts_no_restart
1.14, d.4 what waits in a pool that is not in the settings any more is told so, and can be moved
    test_jobs_in_a_removed_pool_show_the_reason_and_can_be_moved
1.14 an experiment that is being deleted is deleted
    test_an_experiment_that_is_being_deleted_is_deleted_after_a_restart
1.14 of unmanaged trials only time counts in which a master ran
    test_only_time_counts_in_which_a_master_ran
1.14 what the harness calls meanwhile is tried again and counts once
    test_an_answer_lost_after_its_commit_is_settled
8.4, d.3 back within the window: the same run, nothing lost
    test_a_partition_shorter_than_the_window_costs_nothing
8.4, d.3 not back within it: agent_failed, it starts elsewhere, the zombie is ended
    test_after_a_partition_longer_than_the_window_work_continues_elsewhere_alone
8.4, d.1 another live connection of the same id is refused
    test_a_second_agent_with_one_id_is_refused_and_the_first_continues
8.4 the same across a partition: the one that comes back ends what it has
    test_two_agents_with_one_id_across_a_partition
8.4, d.3 back with another pool: it keeps what runs and takes new work of that pool
    test_an_agent_that_comes_back_in_another_pool_keeps_what_runs
8.4, d.3 back with other slots: it keeps what runs
    test_an_agent_that_comes_back_with_other_slots_keeps_what_runs
8.4, d.4 what an agent had to tell while it was away is told when it is back
    test_an_end_during_a_partition_is_reported_after_it
8.5, d.4 ended while its agent was down: completed with 0, failed with another code
    test_a_task_that_ends_while_its_agent_is_down_has_ended_as_it_did
8.5, d.4 a container that nobody expects is killed, before its slot is given to the next
    test_a_slot_is_free_for_the_next_only_when_the_last_has_left_it
8.4, d.3 what was switched off stays so
    test_switches_survive_the_master
d.3 an agent that stands still is as one that is cut off
    test_an_agent_that_stands_still_for_longer_than_the_window
d.3 the time in which the master itself stands still does not count
    test_a_master_that_stands_still_for_longer_than_the_window_loses_nobody
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import APIException, Cluster, Way, until
from tests.e2e.conftest import running
from tests.e2e.faults import Held, is_away, stopped
from tests.e2e.test_fault_agents import IMPATIENT, KEEPALIVE
from tests.e2e.test_life import config

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.kill]

WINDOW_S = 20
POOLS = f"""
resource_manager: {{default_compute_resource_pool: main, default_aux_resource_pool: main}}
resource_pools:
  - {{pool_name: main, agent_reconnect_wait: {WINDOW_S}s}}
  - {{pool_name: side, agent_reconnect_wait: {WINDOW_S}s}}
"""
SIDE_ALONE = POOLS.replace("main", "side", 2).replace(
    f"  - {{pool_name: main, agent_reconnect_wait: {WINDOW_S}s}}\n", ""
)
AGENTS = ("agent-0", "agent-1")


def prepare(cluster: Cluster) -> None:
    cluster.ways["master"] = Way(IMPATIENT)
    for name in AGENTS:
        cluster.ways[name] = Way(KEEPALIVE)


@pytest.fixture(scope="module")
def robust() -> Iterator[Cluster]:
    """Two agents of one slot each in pool main; a second pool has none."""
    with running(2, 1, settings=POOLS, pools=["main"], prepare=prepare) as made:
        yield made


@pytest.fixture(autouse=True)
def whole(robust: Cluster) -> Iterator[None]:
    """Each test ends with everything as it began."""
    yield
    is_changed = robust.settings != POOLS or any(robust.ways[a] != Way(KEEPALIVE) for a in AGENTS)
    robust.settings = POOLS
    prepare(robust)
    dead = [n for n, process in robust.processes.items() if process.poll() is not None]
    stop(robust, *(["master", *AGENTS] if is_changed else dead))
    for name in ("master", *AGENTS):
        if name not in robust.processes:
            robust.start_master() if name == "master" else robust.start_agent(name)
    until(lambda: len(robust.get("/api/v1/agents")["agents"]) == 2, what="both agents")
    for name in AGENTS:
        robust.post(f"/api/v1/agents/{name}/enable")
    until(lambda: robust.connected() == list(AGENTS), what="both agents")
    robust.settle()


def restart(cluster: Cluster, *names: str) -> None:
    """Kill processes, all before the first of them is started again."""
    stop(cluster, *names)
    for name in names:
        cluster.start_master() if name == "master" else cluster.start_agent(name)


def stop(cluster: Cluster, *names: str) -> None:
    for name in names:
        if name in cluster.processes:
            cluster.kill(name)


def only(cluster: Cluster, agent: str) -> None:
    """Let nothing new start elsewhere."""
    for name in AGENTS:
        action = "enable" if name == agent else "disable"
        cluster.post(f"/api/v1/agents/{name}/{action}", {"drain": True})


@pytest.mark.parametrize(
    "victims",
    [("master",), ("agent-0", "agent-1"), ("master", "agent-0", "agent-1")],
    ids="+".join,
)
@covers("scheduling-and-provisioning d.4.restored d.4.agent_restart")
def test_running_work_survives_two_restarts_within_the_window(
    robust: Cluster, victims: tuple[str, ...]
) -> None:
    held = Held(robust, f"twice {len(victims)} {victims[0]}")
    held.began()
    restart(robust, *victims)
    restart(robust, *victims)
    until(lambda: robust.connected() == list(AGENTS), what="both agents")
    assert held.end() == "COMPLETED"
    assert held.runs() == [1]
    assert "the last line of run 1" in held.text()


def test_queued_work_keeps_its_place(robust: Cluster) -> None:
    only(robust, "agent-0")
    first = Held(robust, "first")
    first.began()
    queued = [Held(robust, f"queued {n}") for n in range(3)]
    until(lambda: all(robust.state(q.id) == "QUEUED" for q in queued), what="a queue")
    restart(robust, "master")
    until(lambda: not is_away(robust, "agent-0"), what="the agent")
    assert [robust.state(q.id) for q in queued] == ["QUEUED"] * 3
    assert first.end() == "COMPLETED"
    for place, held in enumerate(queued):
        held.began()
        assert all(not q.ledger for q in queued[place + 1 :])
        assert held.end() == "COMPLETED"
        assert held.runs() == [1]


@covers("scheduling-and-provisioning d.3.buffered")
def test_orders_to_a_crashed_agent_start_when_it_reconnects(robust: Cluster) -> None:
    """The order was given to an agent that stands still, and then both died."""
    only(robust, "nobody")
    held = Held(robust, "ordered")
    until(lambda: robust.state(held.id) == "QUEUED", what="a queue")
    with stopped(robust, "agent-0"):  # for which a master has patience for some seconds only
        robust.post("/api/v1/agents/agent-0/enable")
        until(lambda: "was assigned to an agent" in held.text(), what="the order")
        stop(robust, "agent-0", "master")
    restart(robust, "master", "agent-0")
    assert held.began() == "agent-0"
    assert held.end() == "COMPLETED"
    assert held.runs() == [1]
    assert [line for line in held.ledger if line.startswith("began")] == ["began 1 agent-0"]


def test_one_that_is_asked_to_leave_still_leaves_with_its_work(robust: Cluster) -> None:
    experiment = robust.submit(config(), {"t.py": scripts.WAITS})
    until(lambda: any(t["totalBatchesProcessed"] for t in robust.trials(experiment)))
    robust.post(f"/api/v1/experiments/{experiment}/pause")
    restart(robust, "master")
    until(lambda: robust.trials(experiment)[0]["checkpointCount"] == 1, what="its checkpoint")
    assert robust.state(experiment) == "PAUSED"
    restart(robust, "master")
    assert robust.state(experiment) == "PAUSED"
    robust.post(f"/api/v1/experiments/{experiment}/activate")
    assert robust.wait(experiment) == "COMPLETED"
    [trial] = robust.trials(experiment)
    assert trial["restarts"] == 0
    [saved, _] = robust.get(f"/api/v1/trials/{trial['id']}/checkpoints")["checkpoints"]
    assert f"resumed from {saved['uuid']}" in robust.text(trial["id"])


@covers("scheduling-and-provisioning d.3.buffered")
def test_one_that_was_killed_while_its_agent_was_away_ends_when_it_is_back(
    robust: Cluster,
) -> None:
    held = Held(robust, "killed away")
    agent = held.began()
    robust.kill(agent)
    robust.post(f"/api/v1/experiments/{held.id}/kill")
    restart(robust, "master")
    assert held.processes() != []
    robust.start_agent(agent)
    assert robust.wait(held.id) == "CANCELED"
    assert held.runs() == [1]
    until(lambda: not held.processes(), what="the end of its processes")


@covers("scheduling-and-provisioning d.4.expected d.3.not_back d.3.not_counted")
def test_work_of_a_missing_agent_starts_elsewhere_and_counts_no_restart(robust: Cluster) -> None:
    held = Held(robust, "missing agent")
    agent = held.began()
    other = {"agent-0": "agent-1", "agent-1": "agent-0"}[agent]
    stop(robust, agent, "master")
    robust.start_master()
    assert held.began(2) == other
    robust.start_agent(agent)
    until(lambda: not held.processes(f"agents/{agent}"), what="the end of the first run")
    assert held.end() == "COMPLETED"
    assert held.runs() == [1, 2]
    assert held.trial["restarts"] == 0
    text = f"agent closed with allocated containers: agent {agent} was lost"
    assert text in held.text(), "scripts of 0.38.1 look for its beginning"


@covers("scheduling-and-provisioning d.4.missing d.3.not_counted")
def test_work_of_a_missing_container_starts_again_and_counts_no_restart(robust: Cluster) -> None:
    """The machine of the agent was switched off: nothing is left of the container but files."""
    held = Held(robust, "missing container")
    agent = held.began()
    robust.kill(agent)
    for pid in [*shims(robust.root / "agents" / agent), *held.processes()]:
        with suppress(ProcessLookupError):  # it has gone with its shim
            os.kill(pid, signal.SIGKILL)
    until(lambda: not held.processes(), what="the end of its processes")
    robust.start_agent(agent)
    held.began(2)
    assert held.end() == "COMPLETED"
    assert held.runs() == [1, 2]
    assert held.trial["restarts"] == 0
    assert "resources were not found again after a restart" in held.text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_a_signal_ends_while_agent_and_master_are_away_starts_again(
    robust: Cluster, number: signal.Signals
) -> None:
    held = Held(robust, f"both away {number.name}", max_restarts=0)
    agent = held.began()
    robust.kill(agent)
    robust.kill("master")
    for pid in held.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    until(lambda: not held.processes(), what="the end of its processes")
    robust.start_master()
    robust.start_agent(agent)
    held.began(2)
    assert held.end() == "COMPLETED"
    assert (held.runs(), held.trial["restarts"]) == ([1, 2], 0)
    assert (
        "allocation failed due to restore error: RM failed to restore the allocation: "
        "container is gone on reattachment"
    ) in held.text()


def shims(directory: Path) -> list[int]:
    return [int(path.read_text().split()[0]) for path in directory.glob("*/pid")]


def test_an_agent_that_comes_back_in_another_pool_keeps_what_runs(robust: Cluster) -> None:
    held = Held(robust, "another pool")
    agent = held.began()
    robust.kill(agent)
    until(lambda: is_away(robust, agent), what="that the master notices")
    robust.ways[agent] = Way(KEEPALIVE, options=("--resource-pool", "side"))
    robust.start_agent(agent)
    until(lambda: not is_away(robust, agent), what="its return")
    pools = robust.get(f"/api/v1/agents/{agent}")["agent"]["resourcePools"]
    assert pools == ["side"]
    side = robust.submit(config("true", resources={"resource_pool": "side"}), {})
    until(lambda: robust.state(side) == "QUEUED", what="a queue for its only slot")
    assert held.end() == "COMPLETED"
    assert held.runs() == [1]
    assert robust.wait(side) == "COMPLETED"


@covers("scheduling-and-provisioning d.3.other_devices")
@pytest.mark.parametrize("slots", [0, 3])
def test_an_agent_that_comes_back_with_other_slots_keeps_what_runs(
    robust: Cluster, slots: int
) -> None:
    held = Held(robust, f"other slots {slots}")
    agent = held.began()
    robust.kill(agent)
    until(lambda: is_away(robust, agent), what="that the master notices")
    more = ("--artificial-slots", str(slots)) if slots else ("--slot-type", "none")
    none = () if slots else ("--artificial-slots", "0")
    robust.ways[agent] = Way(KEEPALIVE, options=(*more, *none))
    robust.start_agent(agent)
    until(lambda: not is_away(robust, agent), what="its return")
    listed = robust.get(f"/api/v1/agents/{agent}")["agent"]["slots"]
    assert len(listed) == slots
    assert "an agent reconnected with other slots" in robust.log()
    if slots:
        gang = robust.submit(config("true", resources={"slots_per_trial": 2}), {})
        assert robust.wait(gang) == "COMPLETED"
    assert held.end() == "COMPLETED"
    assert held.runs() == [1]


def test_jobs_in_a_removed_pool_show_the_reason_and_can_be_moved(robust: Cluster) -> None:
    only(robust, "nobody")
    held = Held(robust, "lost pool")
    until(lambda: robust.state(held.id) == "QUEUED", what="a queue")
    stop(robust, "master", *AGENTS)
    robust.settings = SIDE_ALONE
    robust.ways["agent-0"] = Way(KEEPALIVE, options=("--resource-pool", "side"))
    restart(robust, "master", "agent-0")
    job = robust.get(f"/api/v1/experiments/{held.id}")["experiment"]["jobId"]
    gone = "no decision has been made for pool 'main'"

    def said() -> str:
        return str(robust.get(f"/api/v1/job-queues/{job}/why")["text"])

    until(lambda: gone in said(), what="the reason")
    assert "the pool is not in its settings any more" in said()
    with pytest.raises(APIException, match="main"):
        robust.submit(config("true", resources={"resource_pool": "main"}), {})
    until(lambda: len(robust.get("/api/v1/agents")["agents"]) == 1, what="the agent")
    robust.post("/api/v1/agents/agent-0/enable")
    robust.post("/api/v1/job-queues", {"updates": [{"jobId": job, "resourcePool": "side"}]})
    assert held.began(2) == "agent-0", "the request in the other pool is a new one"
    assert held.end() == "COMPLETED"


def test_an_experiment_that_is_being_deleted_is_deleted_after_a_restart(robust: Cluster) -> None:
    given = config(checkpoint_storage={"save_trial_latest": 1})
    experiment = robust.submit(given, {"t.py": scripts.WAITS})
    until(lambda: any(t["totalBatchesProcessed"] for t in robust.trials(experiment)))
    robust.post(f"/api/v1/experiments/{experiment}/cancel")
    assert robust.wait(experiment) == "CANCELED"
    stop(robust, *AGENTS)
    robust.session().delete(f"/api/v1/experiments/{experiment}")
    restart(robust, "master")
    assert robust.state(experiment) == "DELETING"
    for name in AGENTS:
        robust.start_agent(name)

    def is_gone() -> bool:
        try:
            robust.get(f"/api/v1/experiments/{experiment}")
        except APIException as error:
            return error.status_code == 404
        return False

    until(is_gone, what="its deletion")


def test_every_case_of_the_list_above_names_a_test_that_there_is() -> None:
    named = set(re.findall(r"^    (test_\w+)$", __doc__ or "", re.MULTILINE))
    found: set[str] = set()
    for path in Path(__file__).parents[1].rglob("test_*.py"):
        found |= set(re.findall(r"def (test_\w+)\(", path.read_text()))
    assert len(named) > 20
    assert named - found == set()
