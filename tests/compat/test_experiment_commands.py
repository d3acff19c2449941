"""`det` 0.38.1 against our master: what it shows and changes of a finished experiment."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import MODEL, Client, shown
from tests.compat.conftest import Finished
from tests.e2e.cluster import Cluster

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


def test_create_follows_the_first_trial_to_its_end(cluster: Cluster, finished: Finished) -> None:
    lines = [line["message"] for line in cluster.lines(finished.trial_id)]
    assert "".join(lines) in finished.said.out
    assert any("saved" in line for line in lines)
    assert "Trial log stream ended" in finished.said.out + finished.said.err


def test_experiments_are_listed(client: Client, experiment: dict[str, Any]) -> None:
    rows = client.det("experiment", "list", "--csv").rows()
    [row] = [row for row in rows if row["ID"] == str(experiment["id"])]
    assert row["Owner"] == experiment["username"] == "admin"
    assert row["Name"] == experiment["name"]
    assert row["State"] == "COMPLETED"
    assert row["Progress"] == "100.0%"
    assert row["Started"] == shown(experiment["startTime"])
    assert row["Ended"] == shown(experiment["endTime"])
    assert row["Resource Pool"] == experiment["resourcePool"]


def test_an_experiment_is_described(
    client: Client, experiment: dict[str, Any], trial: dict[str, Any]
) -> None:
    tables = client.det("experiment", "describe", experiment["id"], "--csv").tables()
    [row], [trial_row], workloads = tables
    assert row["Experiment ID"] == str(experiment["id"])
    assert row["Description"] == experiment["description"]
    assert sorted(row["Labels"].split(", ")) == sorted(experiment["labels"])
    assert trial_row["Trial ID"] == str(trial["id"])
    assert json.loads(trial_row["H-Params"]) == trial["hparams"]
    assert len(workloads) >= 3
    [told] = client.det("experiment", "describe", experiment["id"], "--json").json()
    assert told["experiment"]["id"] == experiment["id"]
    assert told["experiment"]["trialIds"] == [trial["id"]]
    assert told["config"] == experiment["config"]


def test_an_experiment_is_described_with_its_metrics(
    client: Client, cluster: Cluster, experiment: dict[str, Any], trial: dict[str, Any]
) -> None:
    said = client.det("experiment", "describe", experiment["id"], "--metrics", "--csv")
    workloads = said.tables()[-1]
    path = f"/api/v1/trials/{trial['id']}/workloads"
    stored = cluster.get(path, limit=500)["workloads"]
    validations = [w["validation"] for w in stored if "validation" in w]
    assert len(validations) == 3
    for validation in validations:
        steps = str(validation["totalBatches"])
        values = {
            cell for row in workloads if row["# of Batches"] == steps for cell in row.values()
        }
        for value in validation["metrics"]["avgMetrics"].values():
            assert any(str(value)[:6] in cell for cell in values), (value, values)


def test_trials_are_listed(client: Client, trial: dict[str, Any]) -> None:
    [row] = client.det("experiment", "list-trials", trial["experimentId"], "--csv").rows()
    assert row["Trial ID"] == str(trial["id"])
    assert json.loads(row["H-Params"]) == trial["hparams"]
    assert row["# of Batches"] == str(trial["totalBatchesProcessed"]) == "3"
    assert (row["Started"], row["Ended"]) == (shown(trial["startTime"]), shown(trial["endTime"]))


def test_checkpoints_are_listed(
    client: Client, finished: Finished, checkpoints: list[dict[str, Any]]
) -> None:
    rows = client.det("experiment", "list-checkpoints", finished.id, "--csv").rows()
    assert [row["UUID"] for row in rows] == [c["uuid"] for c in checkpoints]
    for row, checkpoint in zip(rows, checkpoints, strict=True):
        assert row["# of Batches"] == str(checkpoint["metadata"]["steps_completed"])
        assert float(row["Validation Metric"]) == checkpoint["training"]["searcherMetric"]
        assert sorted(row["Resources"].split()) == sorted(checkpoint["resources"])
    words = ("experiment", "list-checkpoints", finished.id, "--best", 1, "--csv")
    [best] = client.det(*words).rows()
    assert best["UUID"] == checkpoints[-1]["uuid"]


def test_name_description_and_labels_are_changed(
    client: Client, cluster: Cluster, finished: Finished
) -> None:
    client.det("experiment", "set", "name", finished.id, "renamed")
    client.det("experiment", "set", "description", finished.id, "told again")
    client.det("experiment", "label", "add", finished.id, "three")
    client.det("experiment", "label", "remove", finished.id, "one")
    now = cluster.get(f"/api/v1/experiments/{finished.id}")["experiment"]
    assert (now["name"], now["description"]) == ("renamed", "told again")
    assert set(now["labels"]) == {"two", "three"}
    config = client.det("experiment", "config", finished.id).out
    assert "name: renamed" in config
    assert "entrypoint: python3 train.py" in config


def test_the_model_directory_is_downloaded(
    client: Client, finished: Finished, tmp_path: Path
) -> None:
    client.det("experiment", "download-model-def", finished.id, "--output-dir", tmp_path)
    [archive] = tmp_path.iterdir()
    with tarfile.open(archive) as tar:
        members = {m.name: tar.extractfile(m) for m in tar if m.isfile()}
        found = {name: file.read() for name, file in members.items() if file is not None}
    files = [path for path in MODEL.iterdir() if path.is_file()]
    assert found == {path.name: path.read_bytes() for path in files}


def test_an_archived_experiment_is_listed_no_more(client: Client, finished: Finished) -> None:
    def is_listed() -> bool:
        [table] = client.det("experiment", "list", "--csv").tables()
        return str(finished.id) in [row["ID"] for row in table]

    client.det("experiment", "archive", finished.id)
    assert not is_listed()
    client.det("experiment", "unarchive", finished.id)
    assert is_listed()


def test_a_trial_is_described(client: Client, cluster: Cluster, trial: dict[str, Any]) -> None:
    told = client.det("trial", "describe", trial["id"], "--metrics", "--json").json()
    assert told["trial"]["summaryMetrics"] == trial["summaryMetrics"]
    assert told["trial"]["bestCheckpoint"]["uuid"] == trial["bestCheckpoint"]["uuid"]
    words = ("trial", "describe", trial["id"], "--metrics", "--csv")
    [row], workloads = client.det(*words).tables()
    assert row["State"] == "COMPLETED"
    assert json.loads(row["Summary Metrics"]) == trial["summaryMetrics"]
    stored = cluster.get(f"/api/v1/trials/{trial['id']}/workloads", limit=1000)["workloads"]
    assert len(workloads) == len(stored) == 8
    told_uuids = {w["Checkpoint UUID"] for w in workloads if w["Checkpoint UUID"]}
    assert told_uuids == {w["checkpoint"]["uuid"] for w in stored if "checkpoint" in w}


def test_logs_are_printed_whole_and_from_either_end(
    client: Client, cluster: Cluster, finished: Finished
) -> None:
    lines = [line["message"] for line in cluster.lines(finished.trial_id)]
    assert "".join(lines) in client.det("trial", "logs", finished.trial_id).out
    head = client.det("trial", "logs", finished.trial_id, "--head", 2).out
    assert "".join(lines[:2]) in head
    assert lines[2] not in head
    tail = client.det("experiment", "logs", finished.id, "--tail", 2).out
    assert "".join(lines[-2:]) in tail
    assert lines[-3] not in tail
    as_json = client.det("trial", "logs", finished.trial_id, "--head", 1, "--json").out
    assert json.loads(as_json[: as_json.rindex("}") + 1])["message"] == lines[0]
    errors = client.det("trial", "logs", finished.trial_id, "--level", "ERROR").out
    assert not re.search(r"\|\| INFO", errors)


def test_a_checkpoint_is_described(
    client: Client, finished: Finished, checkpoints: list[dict[str, Any]]
) -> None:
    said = client.det("checkpoint", "describe", checkpoints[0]["uuid"]).out
    for part in (checkpoints[0]["uuid"], "steps_completed", shown(checkpoints[0]["reportTime"])):
        assert part in said
    assert f"{finished.trial_id} |" in said


@pytest.mark.parametrize("mode", ["direct", "master", "auto"])
def test_a_checkpoint_is_downloaded(
    client: Client, checkpoints: list[dict[str, Any]], tmp_path: Path, mode: str
) -> None:
    where = tmp_path / mode
    words = ("checkpoint", "download", checkpoints[-1]["uuid"], "-o", where, "--mode", mode)
    client.det(*words)
    assert (where / "step").read_text() == "3"
    metadata = json.loads((where / "metadata.json").read_text())
    assert metadata["steps_completed"] == 3
