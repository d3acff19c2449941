"""The example of Keras: without a cluster, and on one, where it is paused and searched."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.e2e.cluster import ROOT, Cluster, until
from tests.frameworks.environment import frameworks_python

EXAMPLE = ROOT / "examples" / "digits_keras"
EPOCH = 22
"""Batches of an epoch: 1,348 images by 64."""

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def submit(cluster: Cluster, name: str, epochs: int, **more: Any) -> int:
    config = YAML(typ="safe").load(EXAMPLE / name)
    variables = [f"DET_PYTHON_EXECUTABLE={frameworks_python()}", f"EPOCHS={epochs}"]
    config["environment"] = {"environment_variables": variables}
    files = {"train.py": (EXAMPLE / "train.py").read_text()}
    return cluster.submit({**config, "max_restarts": 0, **more}, files)


def reports(cluster: Cluster, trial: int, group: str) -> list[tuple[int, dict[str, Any]]]:
    answer = cluster.session().get(f"/api/v1/trials/{trial}/workloads", params={"limit": -1})
    parts = [one[group] for one in answer.json()["workloads"] if group in one]
    return [(int(part["totalBatches"]), part["metrics"]["avgMetrics"]) for part in parts]


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    done = subprocess.run(
        [frameworks_python(), "train.py"],
        cwd=EXAMPLE,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT / 'src'}",
            "XDG_DATA_HOME": str(tmp_path),
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stderr.rpartition("validation accuracy ")[2].split()[0]) > 0.95


def test_a_paused_trial_resumes_with_its_next_epoch(cluster: Cluster) -> None:
    experiment = submit(cluster, "single.yaml", 12, reproducibility={"experiment_seed": SEED})

    def trial() -> Any:
        return next(iter(cluster.trials(experiment)), None)

    until(lambda: trial() and trial()["totalBatchesProcessed"] >= EPOCH, what="an epoch")
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until(lambda: cluster.state(experiment) == "PAUSED", what="the pause")
    until(lambda: not cluster.tasks(), what="the end of the run")
    saved = trial()["totalBatchesProcessed"]
    assert EPOCH <= saved < 12 * EPOCH
    cluster.post(f"/api/v1/experiments/{experiment}/activate")
    assert cluster.wait(experiment, 600) == "COMPLETED"
    validations = reports(cluster, trial()["id"], "validation")
    assert [(s, m["epochs"]) for s, m in validations] == [(EPOCH * n, n) for n in range(1, 13)]
    assert validations[-1][1]["val_accuracy"] > 0.95
    assert [s for s, _ in reports(cluster, trial()["id"], "training")] == [
        EPOCH * n for n in range(1, 13)
    ]
    assert f"after {saved // EPOCH} epochs" in cluster.text(trial()["id"])


def test_a_search_stops_the_trials_that_learn_less(cluster: Cluster) -> None:
    search = {
        "name": "async_halving",
        "metric": "val_accuracy",
        "smaller_is_better": False,
        "time_metric": "epochs",
        "max_time": 8,
        "num_rungs": 2,
        "divisor": 8,
        "max_trials": 2,
        "max_concurrent_trials": 1,
    }
    rates = {"type": "log", "base": 10, "minval": -6, "maxval": -2}
    experiment = submit(
        cluster,
        "search.yaml",
        8,
        searcher=search,
        hyperparameters={"learning_rate": rates, "channels": 16, "dropout": 0.2, "batch_size": 64},
        reproducibility={"experiment_seed": SEED},
    )
    assert cluster.wait(experiment, 600) == "COMPLETED"
    good, bad = cluster.trials(experiment)
    assert good["hparams"]["learning_rate"] > 1e-3 > 1e-4 > bad["hparams"]["learning_rate"]
    ends = [reports(cluster, one["id"], "validation")[-1][1]["epochs"] for one in (good, bad)]
    assert ends[0] == 8 > ends[1]


SEED = 92
"""The first trial then learns with a rate of 0.005, the second with one of 0.000001."""
