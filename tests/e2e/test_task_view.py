"""What user code sees of its task, and what its owner sees of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, until
from tests.e2e.ports import first_port
from tests.e2e.test_life import config

from determined_master.services.logs.news import POLL_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ENVIRONMENT = """
import json, os
seen = {k: v for k, v in os.environ.items() if "TOKEN" not in k}
hidden = sorted(k for k in os.environ if "TOKEN" in k)
print("SEEN " + json.dumps({"environment": seen, "tokens": hidden, "cwd": os.getcwd()}))
"""

IGNORES_PAUSE = """
import pathlib, time
import determined as det
from determined import core
with core.init(preempt_mode=core.PreemptMode.ChiefOnly) as context:
    context.train.report_validation_metrics(1, {"loss": 1.0})
    while not pathlib.Path(GATE).exists():
        time.sleep(0.02)
"""

INVALID = """
import determined as det
from determined import core
with core.init() as context:
    context.train.report_training_metrics(1, {"loss": 1.0})
    raise det.InvalidHP("the learning rate is too large")
"""

FIRST_IS_INVALID = """
import os
import determined as det
from determined import core
with core.init() as context:
    try:
        os.mkdir(GATE)
    except FileExistsError:
        context.train.report_validation_metrics(1, {"loss": 1.0})
    else:
        raise det.InvalidHP("no")
"""

ANYWHERE = """
import determined as det
from determined import core
assert (det.get_cluster_info() is None) == OFF
with core.init(checkpoint_storage=STORAGE) as context:
    context.train.report_training_metrics(1, {"loss": 1.0})
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "weights").write_text("w")
    print("saved", uuid)
"""


def test_user_code_sees_the_variables_of_its_trial(cluster: Cluster) -> None:
    submitted = config(
        hyperparameters={"lr": 0.25, "nested": {"learning_rate": 3}},
        environment={"environment_variables": ["MINE=yes"]},
        resources={"slots_per_trial": 2},
    )
    experiment = cluster.submit(submitted, {"t.py": ENVIRONMENT, "sub/data.txt": "x"})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    line = next(t for t in cluster.text(trial["id"]).splitlines() if "SEEN " in t)
    said = json.loads(line.partition("SEEN ")[2])
    seen: dict[str, str] = said["environment"]

    task = trial["taskId"]
    master = cluster.get("/api/v1/master")
    expected = {
        "DET_MASTER": cluster.address,
        "DET_MASTER_ADDR": "127.0.0.1",
        "DET_MASTER_HOST": "127.0.0.1",
        "DET_MASTER_PORT": str(cluster.port),
        "DET_MASTER_ID": master["masterId"],
        "DET_CLUSTER_ID": master["clusterId"],
        "DET_USE_TLS": "false",
        "DET_SEGMENT_ENABLED": "false",
        "DET_AGENT_ID": "agent-0",
        "DET_SLOT_IDS": "[0,1]",
        "DET_TASK_ID": task,
        "DET_ALLOCATION_ID": f"{task}.1",
        "DET_TASK_TYPE": "TRIAL",
        "DET_TASK_LOGGING_METADATA": f'{{"allocation_id":"{task}.1","task_id":"{task}"}}',
        "DET_USER": "admin",
        "DET_EXPERIMENT_ID": str(experiment),
        "DET_TRIAL_ID": str(trial["id"]),
        "DET_TRIAL_RUN_ID": "1",
        "DET_STEPS_COMPLETED": "0",
        "C10D_PORT": str(first_port("C10D_PORT")),
        "DTRAIN_SSH_PORT": str(first_port("DTRAIN_SSH_PORT")),
        "INTER_TRAIN_PROCESS_COMM_PORT_1": str(first_port("INTER_TRAIN_PROCESS_COMM_PORT_1")),
        "INTER_TRAIN_PROCESS_COMM_PORT_2": str(first_port("INTER_TRAIN_PROCESS_COMM_PORT_2")),
        "MINE": "yes",
    }
    assert {name: seen.get(name) for name in expected} == expected
    assert seen["DET_CONTAINER_ID"] == seen["DET_RESOURCES_ID"]
    assert json.loads(seen["DET_HPARAMS"]) == submitted["hyperparameters"]
    assert json.loads(seen["DET_EXPERIMENT_CONFIG"])["name"] == "e2e"
    assert seen["DET_TRIAL_SEED"].isdigit()
    assert "DET_LATEST_CHECKPOINT" not in seen
    assert {"DET_SESSION_TOKEN", "DET_USER_TOKEN"} <= set(said["tokens"])
    assert said["cwd"] == seen["DET_WORKDIR"]
    assert said["cwd"].startswith(seen["DET_RUN_DIR"])


def test_a_trial_that_ends_while_it_is_asked_to_pause_is_completed(cluster: Cluster) -> None:
    gate = cluster.root / "gate"
    script = IGNORES_PAUSE.replace("GATE", repr(str(gate)))
    experiment = cluster.submit(config(), {"t.py": script})
    until(lambda: [t["totalBatchesProcessed"] for t in cluster.trials(experiment)] == [1])
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until(lambda: cluster.state(experiment) == "PAUSED")
    gate.touch()
    assert cluster.wait(experiment) == "COMPLETED"
    assert [t["state"] for t in cluster.trials(experiment)] == ["STATE_COMPLETED"]


def test_invalid_hyperparameters_end_a_trial_without_a_restart(cluster: Cluster) -> None:
    experiment = cluster.submit(config(max_restarts=3), {"t.py": INVALID})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert (trial["state"], trial["restarts"]) == ("STATE_COMPLETED", 0)
    assert "the learning rate is too large" in cluster.text(trial["id"])


def test_a_random_search_replaces_a_trial_with_invalid_hyperparameters(cluster: Cluster) -> None:
    gate = cluster.root / "once"
    gate.mkdir()
    gate.chmod(0o777)
    script = FIRST_IS_INVALID.replace("GATE", repr(str(gate / "tried")))
    searcher = {"name": "random", "max_trials": 2, "metric": "loss"}
    experiment = cluster.submit(config(searcher=searcher), {"t.py": script})
    assert cluster.wait(experiment) == "COMPLETED"
    steps = [t["totalBatchesProcessed"] for t in cluster.trials(experiment)]
    assert sorted(steps) == [0, 1, 1]


def test_a_followed_log_shows_lines_while_the_trial_runs_and_ends_with_it(
    cluster: Cluster,
) -> None:
    gate = cluster.root / "followed"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    experiment = cluster.submit(config(f"echo early; {wait}; echo late"), {"t.py": ""})
    [trial] = until(lambda: cluster.trials(experiment))
    seen: list[str] = []
    for line in cluster.lines(trial["id"]):
        seen.append(line["log"].rstrip("\n"))
        if seen[-1] == "early":
            assert cluster.state(experiment) in ("STARTING", "RUNNING")
            gate.touch()
    told_at = datetime.now(UTC)
    ended = cluster.get(f"/api/v1/trials/{trial['id']}")["trial"]["endTime"]
    since_s = (told_at - datetime.fromisoformat(ended)).total_seconds()
    assert since_s < POLL_S, "nobody woke the follower at the end"
    assert seen.index("early") < seen.index("late")
    assert any("was terminated" in text for text in seen)


def test_the_story_of_a_trial_names_what_happened_and_why(cluster: Cluster) -> None:
    experiment = cluster.submit(config("python3 t.py"), {"t.py": scripts.WAITS})
    until(lambda: any(t["totalBatchesProcessed"] for t in cluster.trials(experiment)))
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment) == "CANCELED"
    [trial] = cluster.trials(experiment)
    lines: list[dict[str, Any]] = []
    total = 1
    while len(lines) < total:
        page = cluster.get(f"/api/v1/trials/{trial['id']}/story", offset=len(lines), limit=3)
        lines, total = lines + page["lines"], page["pagination"]["total"]
    events = [line["event"] for line in lines]
    order = ["trial_created", "assigned", "trial_killed", "allocation_ended"]
    assert [e for e in events if e in order] == order
    assert all(line["cause"] and line["at"] for line in lines)


@pytest.mark.parametrize("off", [True, False], ids=["off the cluster", "on the cluster"])
def test_one_script_runs_on_and_off_the_cluster(cluster: Cluster, off: bool) -> None:
    storage = cluster.root / f"storage-{off}"
    storage.mkdir()
    storage.chmod(0o777)
    script = ANYWHERE.replace("OFF", repr(off)).replace("STORAGE", repr(str(storage)))
    if off:
        saved = uuid_in(cluster.run_script(script))
        assert (storage / saved / "weights").read_text() == "w"
    else:
        experiment = cluster.submit(config(), {"t.py": script})
        assert cluster.wait(experiment) == "COMPLETED"
        [trial] = cluster.trials(experiment)
        found = cluster.get(f"/api/v1/trials/{trial['id']}/checkpoints")["checkpoints"]
        assert [c["uuid"] for c in found] == [uuid_in(cluster.text(trial["id"]))]


def uuid_in(said: str) -> str:
    line = next(line for line in said.splitlines() if "saved " in line)
    return line.rpartition(" ")[2]
