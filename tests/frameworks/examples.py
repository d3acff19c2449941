"""What the tests of all examples do: train without a cluster, submit, and read the reports."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tests.e2e.cluster import ROOT, Cluster
from tests.frameworks.environment import frameworks_python

EXAMPLES = ROOT / "examples"
SEED = 92
"""Of experiments whose accuracy is judged."""


def train_alone(example: str, place: Path, **variables: str) -> str:
    """Run the script of an example without a cluster; its output."""
    done = subprocess.run(
        [frameworks_python(), EXAMPLES / example / "train.py"],
        cwd=place,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ROOT / 'src'}",
            "XDG_DATA_HOME": str(place),
            "HOME": str(place),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def submit(cluster: Cluster, file: str, variables: dict[str, str], **more: Any) -> int:
    """Create the experiment of `EXAMPLE/CONFIG.yaml`; its id.

    Args:
        cluster: the cluster.
        file: the configuration, below `examples`.
        variables: of the environment of its task.
        more: sections in place of those of the configuration.
    """
    path = EXAMPLES / file
    config = YAML(typ="safe").load(path)
    python = frameworks_python()
    config["entrypoint"] = config["entrypoint"].replace("python3", python)
    variables = {"DET_PYTHON_EXECUTABLE": python, **variables}
    config["environment"] = {"environment_variables": [f"{k}={v}" for k, v in variables.items()]}
    seed = {"experiment_seed": SEED}
    texts = [each for each in path.parent.iterdir() if each.suffix in (".py", ".json")]
    return cluster.submit(
        {**config, "max_restarts": 0, "reproducibility": seed, **more},
        {each.name: each.read_text() for each in texts},
    )


def reports(cluster: Cluster, trial: int, group: str) -> list[tuple[int, dict[str, Any]]]:
    """Steps and metrics of a trial's reports."""
    answer = cluster.session().get(f"/api/v1/trials/{trial}/workloads", params={"limit": -1})
    parts = [one[group] for one in answer.json()["workloads"] if group in one]
    return [(int(part["totalBatches"]), part["metrics"]["avgMetrics"]) for part in parts]


def check_search(cluster: Cluster, file: str, hyperparameters: dict[str, Any]) -> None:
    """A search of two trials over the learning rate: the one that learns less ends early.

    With `SEED` the first trial has a rate of 0.005, the second one of 0.000001.
    """
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
    hyperparameters = {"learning_rate": rates, **hyperparameters}
    experiment = submit(
        cluster, file, {"EPOCHS": "8"}, searcher=search, hyperparameters=hyperparameters
    )
    assert cluster.wait(experiment, 600) == "COMPLETED"
    good, bad = cluster.trials(experiment)
    assert good["hparams"]["learning_rate"] > 1e-3 > 1e-4 > bad["hparams"]["learning_rate"]
    ends = [reports(cluster, one["id"], "validation")[-1][1]["epochs"] for one in (good, bad)]
    assert ends[0] == 8 > ends[1]
