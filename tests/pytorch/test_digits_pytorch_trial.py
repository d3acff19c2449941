"""The example of a trial class on a real cluster, by torch's launcher and gloo.

It needs a Python with torch, which `make test-torch` makes and names in TORCH_PYTHON.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.covers import covers
from tests.e2e.cluster import ROOT, Cluster, until
from tests.e2e.conftest import running

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", "")
EXAMPLE = ROOT / "examples" / "digits_pytorch_trial"
EPOCH = 22
"""Batches of an epoch: 1,348 images by 64, and as many of two ranks by 32."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.skipif(not TORCH_PYTHON, reason="TORCH_PYTHON names no Python: make test-torch"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running(agents=1, slots=2) as made:
        yield made


def submit(cluster: Cluster, name: str, epochs: int, **more: Any) -> int:
    config = YAML(typ="safe").load(EXAMPLE / name)
    variables = [f"DET_PYTHON_EXECUTABLE={TORCH_PYTHON}", f"EPOCHS={epochs}"]
    config["environment"] = {"environment_variables": variables}
    files = {path.name: path.read_text() for path in EXAMPLE.glob("*.py")}
    return cluster.submit({**config, "max_restarts": 0, **more}, files)


def reports(cluster: Cluster, trial: int, group: str) -> list[tuple[int, dict[str, Any]]]:
    answer = cluster.session().get(f"/api/v1/trials/{trial}/workloads", params={"limit": -1})
    found = []
    for workload in answer.json()["workloads"]:
        if group in workload:
            part = workload[group]
            found.append((int(part["totalBatches"]), part["metrics"]["avgMetrics"]))
    return found


@covers("experiment-config 3.trial_class 7.time_source")
def test_a_class_is_trained_by_two_ranks_and_tells_batches_and_epochs(cluster: Cluster) -> None:
    length = {"name": "single", "metric": "validation_accuracy", "smaller_is_better": False}
    experiment = submit(cluster, "class.yaml", 3, searcher={**length, "max_length": {"epochs": 3}})
    assert cluster.wait(experiment, 120) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert "determined.launch.torch_distributed" in text
    assert "--trial is deprecated" in text
    validations = reports(cluster, trial["id"], "validation")
    assert [(s, m["batches"], m["epochs"]) for s, m in validations] == [
        (22, 22, 1),
        (44, 44, 2),
        (66, 66, 3),
    ]
    assert validations[-1][1]["validation_accuracy"] > 0.8
    assert [s for s, _ in reports(cluster, trial["id"], "training")][:3] == [10, 20, 22]


def test_a_paused_script_goes_on_with_its_next_batch(cluster: Cluster) -> None:
    experiment = submit(cluster, "script.yaml", 30, resources={"slots_per_trial": 1})

    def trial() -> Any:
        return next(iter(cluster.trials(experiment)), None)

    until(lambda: trial() and trial()["totalBatchesProcessed"] > EPOCH, 60, "an epoch")
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until(lambda: cluster.state(experiment) == "PAUSED", what="the pause")
    until(lambda: not cluster.tasks(), what="the end of the run")
    saved = trial()["totalBatchesProcessed"]
    assert EPOCH < saved < 30 * EPOCH
    cluster.post(f"/api/v1/experiments/{experiment}/activate")
    assert cluster.wait(experiment, 120) == "COMPLETED"
    steps = [s for s, _ in reports(cluster, trial()["id"], "training")]
    assert steps == sorted(set(steps))
    assert steps[-1] == 30 * EPOCH
    assert saved in steps
    told = reports(cluster, trial()["id"], "validation")
    assert [m["epochs"] for _, m in told] == list(range(1, 31))
    assert told[-1][1]["validation_accuracy"] > 0.95
    text = cluster.text(trial()["id"])
    assert "reported checkpoint" in text


def test_a_search_stops_classes_by_their_epochs(cluster: Cluster) -> None:
    searcher = {
        "name": "async_halving",
        "metric": "validation_accuracy",
        "smaller_is_better": False,
        "time_metric": "epochs",
        "max_time": 4,
        "num_rungs": 2,
        "divisor": 4,
        "max_trials": 4,
        "max_concurrent_trials": 2,
    }
    experiment = submit(
        cluster,
        "class.yaml",
        4,
        searcher=searcher,
        resources={"slots_per_trial": 1},
        hyperparameters={
            "learning_rate": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
            "channels": 4,
            "global_batch_size": 64,
        },
    )
    assert cluster.wait(experiment, 150) == "COMPLETED"
    ends = [
        reports(cluster, t["id"], "validation")[-1][1]["epochs"]
        for t in cluster.trials(experiment)
    ]
    assert len(ends) == 4
    assert min(ends) < 4


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    done = subprocess.run(
        [TORCH_PYTHON, "train.py"],
        cwd=EXAMPLE,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT / 'src'}",
            "XDG_DATA_HOME": str(tmp_path),
            "EPOCHS": "4",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "epochs': 4" in done.stderr
    folders = list(tmp_path.glob("determined/checkpoints/*/code/model_def.py"))
    assert len(folders) == 4
