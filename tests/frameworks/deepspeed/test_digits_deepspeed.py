"""The example of DeepSpeed: without a cluster, and on two slots of one."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.e2e.cluster import ROOT, Cluster
from tests.frameworks.deepspeed.extensions import extension_variables
from tests.frameworks.environment import frameworks_python

EXAMPLE = ROOT / "examples" / "digits_deepspeed"

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    done = subprocess.run(
        [frameworks_python(), EXAMPLE / "train.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            **extension_variables(),
            "PYTHONPATH": f"{ROOT / 'src'}",
            "XDG_DATA_HOME": str(tmp_path),
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    accuracies = re.findall(r"'accuracy': ([0-9.]+)", done.stdout + done.stderr)
    assert len(accuracies) == 15
    assert float(accuracies[-1]) > 0.95


def test_two_slots_train_one_network_with_zero_2(cluster: Cluster) -> None:
    config = YAML(typ="safe").load(EXAMPLE / "distributed.yaml")
    config["entrypoint"] = config["entrypoint"].replace("python3", frameworks_python())
    variables = {"DET_PYTHON_EXECUTABLE": frameworks_python(), **extension_variables()}
    config["environment"] = {"environment_variables": [f"{k}={v}" for k, v in variables.items()]}
    files = {name: (EXAMPLE / name).read_text() for name in ("train.py", "ds_config.json")}
    seed = {"experiment_seed": 1}
    experiment = cluster.submit({**config, "max_restarts": 0, "reproducibility": seed}, files)
    state = cluster.wait(experiment, 600)
    [trial] = cluster.trials(experiment)
    assert state == "COMPLETED", cluster.text(trial["id"])
    assert trial["totalBatchesProcessed"] == 15 * 21  # 674 images a rank are 21 times 4 times 8
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["accuracy"] > 0.95
    resources = (
        cluster.session()
        .get(f"/api/v1/experiments/{experiment}/checkpoints", params={"limit": -1})
        .json()["checkpoints"][-1]["resources"]
    )
    assert sum(name.endswith("optim_states.pt") for name in resources) == 2
