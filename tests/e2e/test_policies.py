"""What makes a real trial end, or run elsewhere, other than its own code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import APIException, Cluster, until
from tests.e2e.test_life import config, ledger_config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FAILS_ON = """
import os, sys
print("placed on", os.environ["DET_AGENT_ID"], flush=True)
if os.environ["DET_TRIAL_RUN_ID"] == "1":
    print("the disk of this machine is broken", flush=True)
    sys.exit(3)
"""
LEAVES_EARLY = """
from determined import core
import determined as det
info = det.get_cluster_info()
with core.init() as context:
    context.train.set_metadata({"who": {"am": "I"}, "trial": info.trial.trial_id})
    quality, leaves = info.trial.hparams["quality"], info.trial.trial_id % 2
    for epoch in range(1, 9):
        context.train.report_validation_metrics(epoch, {"loss": quality + 1 / epoch,
                                                        "epochs": epoch})
        if leaves and epoch == 3:
            break  # before the verdict of the next rung
        if context.preempt.should_preempt():
            break
"""


def policy(action: str, pattern: str) -> dict[str, Any]:
    return {"name": "broken", "pattern": pattern, "action": action}


@covers("scheduling-and-provisioning b.5.exclude_node")
def test_a_log_policy_keeps_the_next_run_from_an_agent(pair: Cluster) -> None:
    policies = [policy("exclude_node", "disk of .* is broken")]
    experiment = pair.submit(config(max_restarts=2, log_policies=policies), {"t.py": FAILS_ON})
    assert pair.wait(experiment) == "COMPLETED"
    [trial] = pair.trials(experiment)
    text = pair.text(trial["id"])
    places = [s.split()[-1] for s in text.splitlines() if s.startswith("placed on agent")]
    assert len(places) == 2
    assert places[0] != places[1]
    assert f"agent {places[0]} is left out of this trial's later attempts" in text
    found = pair.get(f"/api/v1/trials/{trial['id']}")["trial"]
    assert (found["logPolicyMatched"], found["restarts"]) == ("broken", 1)


@covers("scheduling-and-provisioning e.4.restart")
def test_a_trial_that_no_agent_may_run_any_more_ends_and_says_why(pair: Cluster) -> None:
    always = FAILS_ON.replace('== "1"', '!= "0"')
    policies = [policy("exclude_node", "disk of .* is broken")]
    experiment = pair.submit(config(max_restarts=9, log_policies=policies), {"t.py": always})
    assert pair.wait(experiment) == "ERROR"
    [trial] = pair.trials(experiment)
    said = "slots requested exceeds default resource pool capacity: log policies exclude "
    assert f"{said}agent-0, agent-1" in pair.text(trial["id"])
    assert pair.get(f"/api/v1/trials/{trial['id']}")["trial"]["restarts"] == 2


@covers("scheduling-and-provisioning b.5.cancel_retries")
def test_a_log_policy_makes_a_failure_final_also_by_its_last_line(pair: Cluster) -> None:
    script = "import sys; sys.stdout.write('out of luck'); sys.exit(4)"  # not even a line's end
    policies = [policy("cancel_retries", "out of luck")]
    experiment = pair.submit(config(max_restarts=5, log_policies=policies), {"t.py": script})
    assert pair.wait(experiment) == "ERROR"
    [trial] = pair.trials(experiment)
    text = pair.text(trial["id"])
    assert "trial failed and matched logs to a don't retry policy" in text
    assert '(log "out of luck" matched regex "out of luck")' in text
    assert pair.get(f"/api/v1/trials/{trial['id']}")["trial"]["restarts"] == 0


def test_trials_that_leave_during_a_rung_do_not_stop_the_search(pair: Cluster) -> None:
    searcher = {
        "name": "adaptive_asha",
        "metric": "loss",
        "max_trials": 6,
        "max_time": 8,
        "time_metric": "epochs",
        "divisor": 2,
        "mode": "aggressive",
    }
    space = {"quality": {"type": "double", "minval": 0, "maxval": 9}}
    chosen = config(searcher=searcher, hyperparameters=space)
    experiment = pair.submit(chosen, {"t.py": LEAVES_EARLY})
    assert pair.wait(experiment) == "COMPLETED"
    trials = pair.trials(experiment)
    assert len(trials) >= 6
    assert {t["state"] for t in trials} == {"STATE_COMPLETED"}
    assert any(t["totalBatchesProcessed"] == 3 for t in trials)
    for trial in trials:
        stored = pair.get(f"/api/v1/runs/{trial['id']}/metadata")["metadata"]
        assert stored == {"who": {"am": "I"}, "trial": trial["id"]}


def test_two_users_who_pause_and_kill_at_once_end_it(pair: Cluster) -> None:
    """Whatever comes first: it is CANCELED, and no slot is held."""
    pair.session("determined")
    for name in ("first", "second"):
        chosen = ledger_config(pair, name, searcher={"name": "single", "metric": "loss"})
        chosen["environment"]["environment_variables"] += ["STEP_S=0.05", "STEPS=2000"]
        experiment = pair.submit(chosen, {"t.py": scripts.LEDGER})
        until(lambda e=experiment: pair.state(e) == "RUNNING", what="a start")
        path = f"/api/v1/experiments/{experiment}"

        def act(step: tuple[str, str], path: str = path) -> str:
            action, user = step
            try:
                pair.post(f"{path}/{action}", user=user)
            except APIException as error:
                return f"{error.status_code}: {error}"
            return "done"

        steps = [("pause", "admin"), ("kill", "determined"), ("activate", "admin")] * 3
        with ThreadPoolExecutor(9) as pool:
            answers = list(pool.map(act, steps))
        for answer, (action, _) in zip(answers, steps, strict=True):
            if action == "kill" or answer == "done":
                assert answer == "done"
            else:  # it came too late
                assert answer.startswith("400: ")
                assert "STOPPING" in answer or "terminal" in answer
        assert pair.wait(experiment) == "CANCELED"
        assert {t["state"] for t in pair.trials(experiment)} == {"STATE_CANCELED"}

    def holds_nothing() -> bool:
        agents = pair.get("/api/v1/agents")["agents"]
        return all(s["container"] is None for a in agents for s in a["slots"].values())

    until(holds_nothing, what="free slots")


def test_a_profiled_trial_is_seen_at_work(pair: Cluster) -> None:
    script = """
import os, time
from determined import core
with core.init() as context:
    context.profiler.on(sampling_interval=0.1, samples_per_report=2)
    for step in range(1, 12):
        context.train.report_training_metrics(step, {"loss": 1.0 / step})
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.02)
"""
    go = pair.root / "profiled"
    given = config(environment={"environment_variables": [f"GO={go}"]})
    experiment = pair.submit(given, {"t.py": script})
    [trial] = until(lambda: pair.trials(experiment), what="a trial")
    path = f"/api/v1/trials/{trial['id']}/profiler"

    def series() -> str:
        return str(pair.session().get(f"{path}/available_series").text)

    for name in ("cpu_util_simple", "memory_free"):
        until(lambda name=name: f'"{name}"' in series(), what=f"the series {name}")
    go.touch()
    assert pair.wait(experiment) == "COMPLETED"
    [trial] = pair.trials(experiment)
    [first, *_] = pair.session().get(f"{path}/metrics?labels.name=memory_free").text.splitlines()
    assert '"values":[' in first
    assert trial["totalBatchesProcessed"] == 11
