"""The life of experiments on a real cluster."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import APIException, Cluster, until

from determined.common.api import Session, authentication
from determined.common.api.errors import UnauthenticatedException

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def config(entrypoint: str = "python3 t.py", **more: Any) -> dict[str, Any]:
    return {
        "name": "e2e",
        "entrypoint": entrypoint,
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {"quality": 0.5},
        "max_restarts": 0,
        **more,
    }


def ledger_config(cluster: Cluster, name: str, step_s: float = 0.0, **more: Any) -> dict[str, Any]:
    where = cluster.root / name
    where.mkdir()
    where.chmod(0o777)  # tasks may run as another user
    variables = [f"LEDGER={where}", "STEPS=8", f"STEP_S={step_s}"]
    return config(environment={"environment_variables": variables}, **more)


@covers("experiment-config 3.bootstrap")
def test_a_single_trial_reports_saves_and_ends_completed(cluster: Cluster) -> None:
    kept = ledger_config(cluster, "single", checkpoint_storage={"save_trial_latest": 2})
    experiment = cluster.submit(kept, {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert trial["totalBatchesProcessed"] == 8
    assert trial["latestValidation"]["metrics"]["avgMetrics"]["loss"] == 0.5 + 1 / 8
    assert trial["checkpointCount"] == 2
    found = cluster.get(f"/api/v1/trials/{trial['id']}/checkpoints")["checkpoints"]
    assert [c["metadata"]["steps_completed"] for c in found] == [4, 8]
    assert all("step" in c["resources"] for c in found)


@pytest.mark.parametrize(
    ("searcher", "space", "count"),
    [
        ({"name": "random", "max_trials": 3}, {"type": "double", "minval": 0, "maxval": 1}, 3),
        ({"name": "grid"}, {"type": "categorical", "vals": [0.1, 0.2, 0.3, 0.4]}, 4),
    ],
    ids=["random", "grid"],
)
def test_a_search_runs_every_trial_it_asked_for(
    cluster: Cluster, searcher: dict[str, Any], space: dict[str, Any], count: int
) -> None:
    experiment = cluster.submit(
        ledger_config(
            cluster,
            searcher["name"],
            searcher={**searcher, "metric": "loss"},
            hyperparameters={"quality": space},
        ),
        {"t.py": scripts.LEDGER},
    )
    assert cluster.wait(experiment) == "COMPLETED"
    trials = cluster.trials(experiment)
    assert [t["state"] for t in trials] == ["STATE_COMPLETED"] * count
    assert len({t["hparams"]["quality"] for t in trials}) == count


def test_a_trial_that_the_search_stops_leaves_with_its_checkpoint(cluster: Cluster) -> None:
    experiment = cluster.submit(
        ledger_config(
            cluster,
            "asha",
            step_s=0.2,  # a verdict takes some milliseconds to reach its trial
            # one trial after the other, from a seed: the same verdicts each time
            reproducibility={"experiment_seed": 7},
            searcher={
                "name": "adaptive_asha",
                "mode": "aggressive",
                "max_concurrent_trials": 1,
                "metric": "loss",
                "max_trials": 6,
                "max_time": 8,
                "time_metric": "epochs",
                "divisor": 2,
            },
            hyperparameters={"quality": {"type": "double", "minval": 0, "maxval": 9}},
        ),
        {"t.py": scripts.LEDGER},
    )
    assert cluster.wait(experiment) == "COMPLETED"
    trials = cluster.trials(experiment)
    stopped = [t for t in trials if t["totalBatchesProcessed"] < 8]
    assert len(trials) >= 6
    assert stopped
    assert {t["state"] for t in trials} == {"STATE_COMPLETED"}
    assert all(t["checkpointCount"] > 0 for t in stopped)


@covers("experiment-config 17.resume")
def test_a_pause_saves_and_a_later_run_resumes(cluster: Cluster) -> None:
    experiment = cluster.submit(config(), {"t.py": scripts.WAITS})
    [trial] = until(lambda: cluster.trials(experiment))
    until(lambda: any(t["totalBatchesProcessed"] for t in cluster.trials(experiment)))
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until(lambda: cluster.trials(experiment)[0]["checkpointCount"] == 1)
    assert cluster.state(experiment) == "PAUSED"
    cluster.post(f"/api/v1/experiments/{experiment}/activate")
    assert cluster.wait(experiment) == "COMPLETED"
    [saved, _] = cluster.get(f"/api/v1/trials/{trial['id']}/checkpoints")["checkpoints"]
    assert f"resumed from {saved['uuid']}" in cluster.text(trial["id"])
    assert cluster.trials(experiment)[0]["restarts"] == 0


@pytest.mark.parametrize("action", ["cancel", "kill"])
def test_an_ended_experiment_gives_its_slots_back(cluster: Cluster, action: str) -> None:
    experiment = cluster.submit(config(), {"t.py": scripts.WAITS})
    until(lambda: cluster.state(experiment) == "RUNNING")
    until(lambda: any(t["totalBatchesProcessed"] for t in cluster.trials(experiment)))
    cluster.post(f"/api/v1/experiments/{experiment}/{action}")
    assert cluster.wait(experiment) == "CANCELED"
    cluster.post(f"/api/v1/experiments/{experiment}/{action}")
    slots = cluster.get("/api/v1/agents")["agents"][0]["slots"].values()
    assert [slot["container"] for slot in slots] == [None, None]
    with pytest.raises(APIException, match="terminal state"):
        cluster.post(f"/api/v1/experiments/{experiment}/activate")


@covers("experiment-config 17.max_restarts")
def test_failures_are_counted_and_the_last_one_is_final(cluster: Cluster) -> None:
    experiment = cluster.submit(config("exit 7", max_restarts=2), {"t.py": ""})
    assert cluster.wait(experiment) == "ERROR"
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert text.count("exit code 7") >= 3
    assert trial["state"] == "STATE_ERROR"
    story = cluster.get(f"/api/v1/trials/{trial['id']}/story", limit=200)["lines"]
    assert [line["event"] for line in story].count("allocation_ended") == 3


@pytest.mark.parametrize(
    ("entrypoint", "said", "state"),
    [
        ("python3 not_there.py", "not_there.py", "ERROR"),
        ("no-such-command", "not found", "ERROR"),
        ("python3 -c 'raise ValueError(\"mine\")'", "ValueError: mine", "ERROR"),
        ("kill -9 $$", "137", "ERROR"),
        ("true", "it reported no metrics", "COMPLETED"),
    ],
    ids=["missing script", "missing command", "raises", "killed", "does nothing"],
)
def test_a_log_shows_how_an_entrypoint_ended(
    cluster: Cluster, entrypoint: str, said: str, state: str
) -> None:
    experiment = cluster.submit(config(entrypoint), {"t.py": ""})
    assert cluster.wait(experiment) == state
    [trial] = cluster.trials(experiment)
    assert said in cluster.text(trial["id"])


def test_two_slots_of_one_agent_are_two_ranks(cluster: Cluster) -> None:
    experiment = cluster.submit(
        config(
            "python3 -m determined.launch.simple python3 t.py", resources={"slots_per_trial": 2}
        ),
        {"t.py": scripts.RANKS},
    )
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = [line for line in cluster.lines(trial["id"]) if "gathered" in line["log"]]
    assert {line["rankId"] for line in lines} == {0, 1}
    assert all("[[0, 0], [1, 0]] 1" in line["log"] for line in lines)


def test_a_gang_over_two_agents_is_ranked_by_agent_id(pair: Cluster) -> None:
    experiment = pair.submit(
        config(
            "python3 -m determined.launch.simple python3 t.py", resources={"slots_per_trial": 2}
        ),
        {"t.py": scripts.RANKS},
    )
    assert pair.wait(experiment) == "COMPLETED"
    [trial] = pair.trials(experiment)
    lines = [line for line in pair.lines(trial["id"]) if "gathered" in line["log"]]
    assert {(line["agentId"], line["rankId"]) for line in lines} == {
        ("agent-0", 0),
        ("agent-1", 1),
    }
    assert all("[[0, 0], [1, 1]] 2" in line["log"] for line in lines)


def test_a_token_of_a_task_is_dead_after_its_end(cluster: Cluster) -> None:
    entrypoint = "echo TOKEN=$DET_SESSION_TOKEN USER=$DET_USER_TOKEN"
    experiment = cluster.submit(config(entrypoint), {"t.py": ""})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    line = next(t for t in cluster.text(trial["id"]).splitlines() if t.startswith("TOKEN="))
    for token in (word.partition("=")[2] for word in line.split()):
        assert len(token) > 30
        with (
            Session(cluster.address, "admin", token) as stale,
            pytest.raises(UnauthenticatedException),
        ):
            stale.get(f"/api/v1/trials/{trial['id']}")


def test_the_same_request_twice_makes_one_experiment(cluster: Cluster) -> None:
    body = {"config": json.dumps(config("true")), "activate": False}
    headers = {"Idempotency-Key": "once"}
    session = cluster.session()
    answers = [
        session.post("/api/v1/experiments", json=body, headers=headers).json() for _ in range(2)
    ]
    assert answers[0]["experiment"]["id"] == answers[1]["experiment"]["id"]


def test_two_at_once_with_one_key_make_one_experiment(cluster: Cluster) -> None:
    body = {"config": json.dumps(config("true")), "activate": False}
    headers = {"Idempotency-Key": "at once"}

    def send(_: int) -> int:
        with authentication.login(cluster.address, "admin", "Secret-1234") as session:
            answer = session.post("/api/v1/experiments", json=body, headers=headers)
            return int(answer.json()["experiment"]["id"])

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(send, range(4)))) == 1
