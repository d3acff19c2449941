"""The example of Lightning: without a cluster, and on one, on two slots and searched."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.cluster import Cluster
from tests.frameworks.examples import check_search, reports, submit, train_alone

EPOCH = 22
"""Steps of an epoch: 1,348 images by 64."""

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def test_it_learns_without_a_cluster(tmp_path: Path) -> None:
    output = train_alone("digits_lightning", tmp_path)
    assert float(output.rpartition("validation accuracy ")[2].split()[0]) > 0.95


def test_two_slots_train_one_network(cluster: Cluster) -> None:
    experiment = submit(cluster, "digits_lightning/distributed.yaml", {"EPOCHS": "10"})
    state = cluster.wait(experiment, 600)
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert state == "COMPLETED", text
    steps = [step for step, _ in reports(cluster, trial["id"], "validation")]
    assert steps == [EPOCH * n for n in range(1, 11)]
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["val_accuracy"] > 0.95
    assert text.count("validation accuracy") == 1


def test_a_search_stops_the_trials_that_learn_less(cluster: Cluster) -> None:
    shape = {"channels": 16, "dropout": 0.2, "global_batch_size": 64}
    check_search(cluster, "digits_lightning/search.yaml", shape)
