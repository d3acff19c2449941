"""The example of a trial class on a real cluster, by torch's launcher and gloo.

It needs a Python with torch, which `make test-torch` makes and names in TORCH_PYTHON.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.covers import covers
from tests.e2e.cluster import ROOT, Cluster, until

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", "")
EXAMPLE = ROOT / "examples" / "digits_pytorch_trial"
EPOCH = 22
"""Batches of an epoch: 1,348 images by 64, and as many of two ranks by 32."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.skipif(not TORCH_PYTHON, reason="TORCH_PYTHON names no Python: make test-torch"),
]


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


SEED = 92
"""The first trial then learns with a rate of 0.19, the second with one of 0.0001."""
SEARCH = {
    "name": "async_halving",
    "metric": "validation_accuracy",
    "smaller_is_better": False,
    "time_metric": "epochs",
    "max_time": 4,
    "num_rungs": 2,
    "divisor": 2,
    "max_trials": 2,
    "max_concurrent_trials": 1,
}


@covers("experiment-config 3.trial_class 7.time_source")
def test_a_class_is_trained_by_two_ranks_and_stopped_by_its_epochs(cluster: Cluster) -> None:
    rates = {"type": "log", "base": 10, "minval": -4, "maxval": -0.3}
    experiment = submit(
        cluster,
        "class.yaml",
        0,
        searcher=SEARCH,
        hyperparameters={"learning_rate": rates, "channels": 8, "global_batch_size": 64},
        reproducibility={"experiment_seed": SEED},
    )
    assert cluster.wait(experiment, 240) == "COMPLETED"
    good, bad = cluster.trials(experiment)
    assert good["hparams"]["learning_rate"] > 0.1 > 0.001 > bad["hparams"]["learning_rate"]
    text = cluster.text(good["id"])
    assert "determined.launch.torch_distributed" in text
    assert "--trial is deprecated" in text
    validations = reports(cluster, good["id"], "validation")
    assert [(s, m["batches"], m["epochs"]) for s, m in validations] == [
        (EPOCH * n, EPOCH * n, n) for n in (1, 2, 3, 4)
    ]
    assert validations[-1][1]["validation_accuracy"] > 0.8
    assert [s for s, _ in reports(cluster, good["id"], "training")][:3] == [10, 20, EPOCH]
    assert reports(cluster, bad["id"], "validation")[-1][1]["epochs"] < 4


def test_a_paused_script_resumes_with_its_next_batch(cluster: Cluster) -> None:
    experiment = submit(cluster, "script.yaml", 30, resources={"slots_per_trial": 1})

    def trial() -> Any:
        return next(iter(cluster.trials(experiment)), None)

    until(lambda: trial() and trial()["totalBatchesProcessed"] > EPOCH, what="an epoch")
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


def test_a_trained_network_reads_all_images_on_two_ranks(cluster: Cluster) -> None:
    seed = {"experiment_seed": SEED}
    trained = submit(
        cluster, "script.yaml", 6, resources={"slots_per_trial": 1}, reproducibility=seed
    )
    assert cluster.wait(trained, 120) == "COMPLETED"
    answer = cluster.session().get(f"/api/v1/experiments/{trained}/checkpoints").json()
    last = max(answer["checkpoints"], key=lambda one: one["metadata"]["steps_completed"])
    reading = submit(
        cluster, "batch_process.yaml", 0, hyperparameters={"checkpoint": last["uuid"]}
    )
    assert cluster.wait(reading, 120) == "COMPLETED"
    [trial] = cluster.trials(reading)
    [(steps, metrics)] = reports(cluster, trial["id"], "validation")
    assert steps == 15  # of each rank: 1,797 images by 64
    assert metrics["accuracy"] > 0.9
    answer = cluster.session().get(f"/api/v1/experiments/{reading}/checkpoints").json()
    done = [one["metadata"]["steps_completed"] for one in answer["checkpoints"]]
    assert 15 in done


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    done = subprocess.run(
        [TORCH_PYTHON, "train.py"],
        cwd=EXAMPLE,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT / 'src'}",
            "XDG_DATA_HOME": str(tmp_path),
            "EPOCHS": "2",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "epochs': 2" in done.stderr
    folders = list(tmp_path.glob("determined/checkpoints/*/code/model_def.py"))
    assert len(folders) == 2
