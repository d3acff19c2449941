"""Whatever is killed in the middle of a search: nothing is lost, doubled or started again."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import ENDED, Cluster, until
from tests.e2e.conftest import running
from tests.e2e.proxy import LossyProxy
from tests.standstill import standing_still

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.kill]

TRIALS = 8
STEPS = 16
KILLS = 5


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with running() as made:
        yield made


@pytest.fixture
def fresh(shared: Cluster) -> Iterator[Cluster]:
    """With nothing left of the search before."""
    yield shared
    shared.settle()


def search(cluster: Cluster, ledger: Path) -> int:
    config = {
        "name": "killed",
        "entrypoint": "python3 t.py",
        "searcher": {
            "name": "adaptive_asha",
            "metric": "loss",
            "max_trials": TRIALS,
            "max_time": STEPS,
            "time_metric": "epochs",
        },
        "hyperparameters": {"quality": {"type": "double", "minval": 0, "maxval": 9}},
        "reproducibility": {"experiment_seed": 7},
        "max_restarts": 0,
        "environment": {
            "environment_variables": [f"LEDGER={ledger}", f"STEPS={STEPS}", "STEP_S=0.2"]
        },
    }
    return cluster.submit(config, {"t.py": scripts.LEDGER})


def kill_master(cluster: Cluster) -> None:
    cluster.kill("master")
    cluster.start_master()


def kill_agent(cluster: Cluster) -> None:
    cluster.kill("agent-0")
    cluster.start_agent("agent-0")


def stop_master_for_a_while(cluster: Cluster, length_s: float = 3) -> None:
    with standing_still(cluster.processes["master"].pid):
        time.sleep(length_s)  # the length of the stop is what is tested


@covers("scheduling-and-provisioning d.4.restored")
@pytest.mark.parametrize(
    ("victim", "seed"),
    [
        (kill_master, 1),
        (kill_agent, 2),
        (Cluster.kill_postgres, 3),
        (stop_master_for_a_while, 4),
    ],
    ids=["master", "agent", "postgres", "stopped master"],
)
def test_a_search_survives_five_kills(
    fresh: Cluster, victim: Callable[[Cluster], None], seed: int
) -> None:
    ledger = make_ledger(fresh)
    instants = random.Random(seed)
    experiment = search(fresh, ledger)
    killed = 0
    for _ in range(KILLS):
        time.sleep(instants.uniform(0.1, 2.0))  # the instant is drawn, not waited for
        victim(fresh)
        killed += 1
    assert killed == KILLS
    check(fresh, experiment, ledger)


@pytest.fixture
def behind_proxy(fresh: Cluster) -> Iterator[tuple[Cluster, LossyProxy]]:
    """The agent and its tasks reach the master only through a proxy."""
    proxy = LossyProxy(fresh.port)
    try:
        fresh.port_of_agents = proxy.port
        kill_agent(fresh)
        yield fresh, proxy
        fresh.settle()
    finally:
        fresh.port_of_agents = fresh.port
        proxy.close()
        kill_agent(fresh)


@pytest.mark.parametrize("victim", ["master", "postgres"])
def test_an_answer_lost_after_its_commit_is_settled(
    behind_proxy: tuple[Cluster, LossyProxy], victim: str
) -> None:
    """The victim dies when what a task has sent is stored and the task does not know it."""
    cluster, proxy = behind_proxy
    ledger = make_ledger(cluster)
    experiment = search(cluster, ledger)
    instants = random.Random(victim)
    for path in (b"/metrics", b"/checkpoints", b"/metrics", b"/checkpoints", b"/metrics"):
        time.sleep(instants.uniform(0.1, 1.0))  # the instant is drawn, not waited for
        if victim == "master":
            proxy.lose_answer(path, cluster.processes["master"].kill)
        else:
            proxy.lose_answer(path, cluster.kill_postgres)
        assert proxy.has_struck.wait(90), f"no task has sent {path!r}"
        if victim == "master":
            cluster.kill("master")
            cluster.start_master()
    check(cluster, experiment, ledger)


def test_a_search_survives_a_master_that_stands_still_for_a_minute(fresh: Cluster) -> None:
    ledger = make_ledger(fresh)
    experiment = search(fresh, ledger)
    time.sleep(2)  # into the middle of it
    stop_master_for_a_while(fresh, 60)
    check(fresh, experiment, ledger)


def make_ledger(cluster: Cluster) -> Path:
    ledger = Path(tempfile.mkdtemp(prefix="ledger-", dir=cluster.root))
    ledger.chmod(0o777)
    return ledger


def check(cluster: Cluster, experiment: int, ledger: Path) -> None:
    """Wait for the end; then all is as if nothing had been killed."""
    until(lambda: ended(cluster, experiment), 240, "the end of the search")
    assert cluster.state(experiment) == "COMPLETED"
    check_closed_once(cluster, experiment)
    check_ledger(cluster, experiment, ledger)
    until(lambda: not cluster.tasks(), what="the end of every task process")


def ended(cluster: Cluster, experiment: int) -> bool:
    try:
        return cluster.state(experiment) in ENDED
    except OSError:
        return False


def check_closed_once(cluster: Cluster, experiment: int) -> None:
    """As many trials as were asked for, each closed once, none started again."""
    trials = cluster.trials(experiment)
    assert len(trials) == TRIALS
    for trial in trials:
        if trial["state"] != "STATE_COMPLETED":  # shown by pytest when the next line fails
            sys.stdout.write(cluster.text(trial["id"]))
    assert {t["state"] for t in trials} == {"STATE_COMPLETED"}
    lines = cluster.get(f"/api/v1/experiments/{experiment}/story", limit=1000)["lines"]
    closed = Counter(
        line["detail"]["request_id"] for line in lines if line["event"] == "trial_ended"
    )
    assert list(closed.values()) == [1] * TRIALS
    for trial in trials:
        task = cluster.get(f"/api/v1/tasks/{trial['taskId']}")["task"]
        runs = [a["allocationId"].rpartition(".")[2] for a in task["allocations"]]
        if runs != ["1"]:  # the first may have met its agent's death before its program started
            sys.stdout.write(why_again(cluster, trial["id"]))  # shown when the next line fails
            assert started(cluster, trial["id"]) == 1


def started(cluster: Cluster, trial: int) -> int:
    """How many containers of a trial ran."""
    lines = cluster.get(f"/api/v1/trials/{trial}/story", limit=1000)["lines"]
    changes = [line["detail"] for line in lines if line["event"] == "container_changed"]
    return len({c["container_id"] for c in changes if c["state"] == "RUNNING"})


def why_again(cluster: Cluster, trial: int) -> str:
    """All that is known about a trial that was started more than once."""
    told = cluster.get(f"/api/v1/trials/{trial}/story", limit=1000)["lines"]
    story = "".join(json.dumps(line) + "\n" for line in told)
    return f"{story}{cluster.text(trial)}{cluster.log()}{cluster.log('agent-0')}"


def check_ledger(cluster: Cluster, experiment: int, ledger: Path) -> None:
    """What returned is stored, and nothing else is."""
    for trial in cluster.trials(experiment):
        notes = [
            json.loads(line) for line in (ledger / f"{trial['id']}.jsonl").read_text().splitlines()
        ]
        # A run that its agent took and could not start before it was killed has no program.
        assert len([n["run"] for n in notes if "started" in n]) == 1
        reported = {n["reported"]: n["value"] for n in notes if "reported" in n}
        for group in ("training", "validation"):
            assert stored(cluster, trial["id"], group) == reported, f"{group} of {trial['id']}"
        saved = {n["uuid"]: n["saved"] for n in notes if "saved" in n}
        found = cluster.get(f"/api/v1/trials/{trial['id']}/checkpoints")["checkpoints"]
        assert {c["uuid"]: c["metadata"]["steps_completed"] for c in found} == saved
        summary = cluster.summed(trial["id"], "validation_metrics", len(reported))
        assert summary["min"] == min(reported.values())


def stored(cluster: Cluster, trial: int, group: str) -> dict[int, float]:
    path = f"/api/v1/trials/metrics/{group}_metrics"
    answer = cluster.session().get(path, params={"trialIds": [trial]}, stream=True)
    rows: list[dict[str, Any]] = []
    for line in answer.iter_lines():
        if line.strip():
            rows += json.loads(line)["result"]["metrics"]
    key = "validation_metrics" if group == "validation" else "avg_metrics"
    assert len({row["totalBatches"] for row in rows}) == len(rows)
    return {row["totalBatches"]: row["metrics"][key]["loss"] for row in rows}
