"""The example of Lightning: without a cluster, and on one, on two slots and searched."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.e2e.cluster import ROOT, Cluster
from tests.frameworks.environment import frameworks_python

EXAMPLE = ROOT / "examples" / "digits_lightning"
EPOCH = 22
"""Steps of an epoch: 1,348 images by 64."""

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def submit(cluster: Cluster, name: str, epochs: int, **more: Any) -> int:
    config = YAML(typ="safe").load(EXAMPLE / name)
    config["entrypoint"] = config["entrypoint"].replace("python3", frameworks_python())
    variables = [f"DET_PYTHON_EXECUTABLE={frameworks_python()}", f"EPOCHS={epochs}"]
    config["environment"] = {"environment_variables": variables}
    files = {"train.py": (EXAMPLE / "train.py").read_text()}
    return cluster.submit({**config, "max_restarts": 0, **more}, files)


def validations(cluster: Cluster, trial: int) -> list[tuple[int, dict[str, Any]]]:
    """Steps and metrics."""
    answer = cluster.session().get(f"/api/v1/trials/{trial}/workloads", params={"limit": -1})
    parts = [one["validation"] for one in answer.json()["workloads"] if "validation" in one]
    return [(int(part["totalBatches"]), part["metrics"]["avgMetrics"]) for part in parts]


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    done = subprocess.run(
        [frameworks_python(), EXAMPLE / "train.py"],
        cwd=tmp_path,
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


def test_two_slots_train_one_network(cluster: Cluster) -> None:
    seed = {"experiment_seed": SEED}
    experiment = submit(cluster, "distributed.yaml", 10, reproducibility=seed)
    state = cluster.wait(experiment, 600)
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert state == "COMPLETED", text
    steps = [step for step, _ in validations(cluster, trial["id"])]
    assert steps == [EPOCH * n for n in range(1, 11)]
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["val_accuracy"] > 0.95
    assert text.count("validation accuracy") == 1


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
    shape = {"channels": 16, "dropout": 0.2, "global_batch_size": 64}
    experiment = submit(
        cluster,
        "search.yaml",
        8,
        searcher=search,
        hyperparameters={"learning_rate": rates, **shape},
        reproducibility={"experiment_seed": SEED},
    )
    assert cluster.wait(experiment, 600) == "COMPLETED"
    good, bad = cluster.trials(experiment)
    assert good["hparams"]["learning_rate"] > 1e-3 > 1e-4 > bad["hparams"]["learning_rate"]
    ends = [validations(cluster, one["id"])[-1][1]["epochs"] for one in (good, bad)]
    assert ends[0] == 8 > ends[1]


SEED = 92
"""The first trial then learns with a rate of 0.005, the second with one of 0.000001."""
