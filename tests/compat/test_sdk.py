"""The SDK of 0.38.1 against our master."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import MODEL, Client
from tests.compat.conftest import Finished
from tests.e2e.cluster import PASSWORD, Cluster

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


@pytest.fixture(scope="module")
def read(
    client: Client, finished: Finished, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the SDK has read of the finished experiment."""
    directory = tmp_path_factory.mktemp("sdk")
    words = ("admin", PASSWORD, finished.id, directory)
    found: dict[str, Any] = client.script("sdk_reads.py", *words)
    return found


def test_it_knows_users_workspaces_and_experiments(
    read: dict[str, Any], finished: Finished
) -> None:
    assert read["whoami"] == "admin"
    first = {"admin", "determined"}  # other tests make more
    assert [name for name in read["users"] if name in first] == ["admin", "determined"]
    assert finished.id in read["experiments"]
    assert "Uncategorized" in read["workspaces"]  # other scripts make more
    assert read["projects"] == ["Uncategorized"]


def test_it_reads_an_experiment_and_its_trial(
    read: dict[str, Any], experiment: dict[str, Any], trial: dict[str, Any], cluster: Cluster
) -> None:
    assert read["state"] == experiment["state"] == "STATE_COMPLETED"
    assert (read["name"], read["config"]) == (experiment["name"], experiment["config"])
    assert read["trials"] == [trial["id"]]
    assert (read["hparams"], read["summary"]) == (trial["hparams"], trial["summaryMetrics"])
    assert read["logs"] == [line["message"] for line in cluster.lines(trial["id"])]


def test_it_finds_and_downloads_checkpoints(
    read: dict[str, Any], trial: dict[str, Any], checkpoints: list[dict[str, Any]]
) -> None:
    uuids = [c["uuid"] for c in checkpoints]
    assert read["best"] == trial["bestCheckpoint"]["uuid"] == uuids[-1]
    assert sorted(read["checkpoints"]) == sorted(read["trial_checkpoints"]) == sorted(uuids)
    assert read["checkpoint_trial"] == trial["id"]
    assert read["downloads"] == {"direct": "3", "master": "3"}
    assert read["metadata"] == checkpoints[-1]["metadata"]


def test_it_downloads_the_model_directory(read: dict[str, Any]) -> None:
    with tarfile.open(read["code"]) as tar:
        names = {m.name for m in tar if m.isfile()}
    assert names == {path.name for path in MODEL.iterdir() if path.is_file()}


def test_it_streams_metrics(read: dict[str, Any], cluster: Cluster, finished: Finished) -> None:
    trial = finished.trial_id
    assert read["training"] == [[trial, n, {"loss": 1 / n}] for n in (1, 2, 3)]
    assert read["validation"] == [[trial, n, {"loss": 2 / n, "acc": n / 10}] for n in (1, 2, 3)]


def test_it_steers_experiments(client: Client, cluster: Cluster, endless: Path) -> None:
    found = client.script("sdk_steers.py", "admin", PASSWORD, endless, MODEL)
    ends = [found[name] for name in ("trial_killed", "killed", "cancelled")]
    assert ends == ["STATE_CANCELED"] * 3
    assert found["paused"] == "STATE_PAUSED"
    now = cluster.get(f"/api/v1/experiments/{found['id']}")["experiment"]
    assert (now["name"], now["description"], now["notes"]) == ("from the sdk", "d", "n")
    assert sorted(now["labels"]) == found["labels"] == ["b", "c"]
