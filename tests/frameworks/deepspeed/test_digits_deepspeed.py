"""The example of DeepSpeed: without a cluster, and on two slots of one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.cluster import Cluster
from tests.frameworks.deepspeed.extensions import extension_variables
from tests.frameworks.examples import submit, train_alone

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    output = train_alone("digits_deepspeed", tmp_path, **extension_variables())
    accuracies = re.findall(r"'accuracy': ([0-9.]+)", output)
    assert len(accuracies) == 15
    assert float(accuracies[-1]) > 0.95


def test_two_slots_train_one_network_with_zero_2(cluster: Cluster) -> None:
    experiment = submit(cluster, "digits_deepspeed/distributed.yaml", extension_variables())
    state = cluster.wait(experiment, 600)
    [trial] = cluster.trials(experiment)
    assert state == "COMPLETED", cluster.text(trial["id"])
    assert trial["totalBatchesProcessed"] == 15 * 21  # 674 images a rank are 21 times 4 times 8
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["accuracy"] > 0.95
    path = f"/api/v1/experiments/{experiment}/checkpoints"
    checkpoints = cluster.session().get(path, params={"limit": -1}).json()["checkpoints"]
    assert sum(name.endswith("optim_states.pt") for name in checkpoints[-1]["resources"]) == 2
