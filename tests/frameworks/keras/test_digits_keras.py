"""The example of Keras: without a cluster, and on one, where it is paused and searched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import Cluster, until
from tests.frameworks.examples import check_search, reports, submit, train_alone

EPOCH = 22
"""Batches of an epoch: 1,348 images by 64."""

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    output = train_alone("digits_keras", tmp_path)
    assert float(output.rpartition("validation accuracy ")[2].split()[0]) > 0.95


def test_a_paused_trial_resumes_with_its_next_epoch(cluster: Cluster) -> None:
    experiment = submit(cluster, "digits_keras/single.yaml", {"EPOCHS": "12"})

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
    shape = {"channels": 16, "dropout": 0.2, "batch_size": 64}
    check_search(cluster, "digits_keras/search.yaml", shape)
