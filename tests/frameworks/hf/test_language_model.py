"""The example of transformers on a real cluster: two ranks, paused and resumed."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.e2e.cluster import ROOT, Cluster, until
from tests.frameworks.environment import frameworks_python

EXAMPLE = ROOT / "examples" / "language_model"
EVERY = 20
"""Steps between two reports."""

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def test_two_ranks_are_paused_and_resume_with_their_next_step(cluster: Cluster) -> None:
    config = YAML(typ="safe").load(EXAMPLE / "distributed.yaml")
    variables = [f"DET_PYTHON_EXECUTABLE={frameworks_python()}", "HF_HUB_OFFLINE=1"]
    config["environment"] = {"environment_variables": variables}
    files = {"train.py": (EXAMPLE / "train.py").read_text()}
    experiment = cluster.submit({**config, "max_restarts": 0}, files)

    def trial() -> Any:
        return next(iter(cluster.trials(experiment)), None)

    until(lambda: trial() and trial()["totalBatchesProcessed"] >= EVERY, what="a report")
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until(lambda: cluster.state(experiment) == "PAUSED", what="the pause")
    until(lambda: not cluster.tasks(), what="the end of the run")
    answer = cluster.session().get(f"/api/v1/experiments/{experiment}/checkpoints").json()
    saved = max(one["metadata"]["steps_completed"] for one in answer["checkpoints"])
    assert EVERY <= saved < 160
    cluster.post(f"/api/v1/experiments/{experiment}/activate")
    assert cluster.wait(experiment, 600) == "COMPLETED"
    query = {"limit": -1}
    answer = cluster.session().get(f"/api/v1/trials/{trial()['id']}/workloads", params=query)
    parts = [one["validation"] for one in answer.json()["workloads"] if "validation" in one]
    assert [int(part["totalBatches"]) for part in parts] == list(range(EVERY, 161, EVERY))
    assert parts[-1]["metrics"]["avgMetrics"]["eval_loss"] < 0.1
