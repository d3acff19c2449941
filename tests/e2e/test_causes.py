"""The cause of a failure, from a program to the sentence that a user reads."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.command_line import det

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RAISES = """\
batch = None


def train():
    return batch.shape


try:
    {}["epoch"]
except KeyError:
    train()
"""
SAID = "AttributeError: 'NoneType' object has no attribute 'shape' · t.py:5"


def submit(cluster: Cluster, entrypoint: str = "python3 t.py", **more: Any) -> int:
    config = {
        "name": "fails",
        "entrypoint": entrypoint,
        "searcher": {"name": "single", "metric": "loss"},
        "max_restarts": 0,
        **more,
    }
    return cluster.submit(config, {"t.py": RAISES})


def failure(cluster: Cluster, kind: str, id: object) -> dict[str, Any]:
    answer = cluster.get(f"/api/ui/v1/{kind}/{id}/story")
    return dict(answer["failure"] or {})


def test_an_exception_stands_wherever_its_experiment_does(cluster: Cluster) -> None:
    experiment = submit(cluster)
    assert cluster.wait(experiment) == "ERROR"
    [trial] = cluster.trials(experiment)
    told = failure(cluster, "experiments", experiment)
    assert (told["text"], told["type"]) == (SAID, "AttributeError")
    assert (told["file"], told["line"], told["trialId"]) == ("t.py", 5, trial["id"])
    assert failure(cluster, "trials", trial["id"])["text"] == SAID
    assert failure(cluster, "tasks", trial["taskId"])["text"] == SAID
    [line] = [x for x in cluster.lines(trial["id"]) if x["id"] == str(told["logPosition"])]
    assert line["log"].startswith("AttributeError: ")
    assert f"is ERROR: {SAID}; " in det(cluster, "experiment", "describe", str(experiment))
    assert f"is ERROR: {SAID}; " in det(cluster, "trial", "describe", str(trial["id"]))
    assert f"Reason: {SAID}; " in det(cluster, "trial", "story", str(trial["id"]))
    waited = det(cluster, "experiment", "wait", str(experiment), code=1)
    assert f"ended in state ERROR: {SAID}; " in waited
    [shown] = cluster.get("/api/ui/v1/overview")["failures"]
    assert shown["reason"] == SAID


def test_another_program_has_the_last_line_of_its_stderr(cluster: Cluster) -> None:
    experiment = submit(cluster, "echo loading; echo 'no dataset at /data/x' >&2; exit 3")
    assert cluster.wait(experiment) == "ERROR"
    told = failure(cluster, "experiments", experiment)
    assert (told["text"], told["kind"]) == ("no dataset at /data/x (exit code 3)", "output")
    assert told["exitCode"] == 3


def test_a_failed_attempt_has_its_cause_while_the_next_one_runs(cluster: Cluster) -> None:
    script = "test -e was && exec sleep 600; python3 t.py || { touch was; exit 1; }"
    experiment = submit(
        cluster,
        script.replace("was", str(cluster.root / "was")),
        max_restarts=5,
    )
    told = until(lambda: failure(cluster, "experiments", experiment), what="a failed attempt")
    assert told["text"] == SAID
    assert told["allocationId"].endswith(".1")
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment) == "CANCELED"
    assert failure(cluster, "experiments", experiment) == {}


def test_a_script_that_is_not_there_is_tried_once(cluster: Cluster) -> None:
    experiment = submit(cluster, "python3 nothere.py", max_restarts=5)
    assert cluster.wait(experiment) == "ERROR"
    [trial] = cluster.trials(experiment)
    assert trial["restarts"] == 0
    reason = cluster.get(f"/api/ui/v1/trials/{trial['id']}/story")["reason"]
    assert "can't open file 'nothere.py': [Errno 2]" in reason
    assert "it is not started again: each attempt would end like this" in reason
