"""Ended experiments on a real cluster: they continue, lose checkpoints, are deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.cluster import APIException, Cluster, until
from tests.e2e.test_life import config, ledger_config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def checkpoints(cluster: Cluster, experiment: int) -> dict[int, dict[str, Any]]:
    """By their steps."""
    path = f"/api/v1/experiments/{experiment}/checkpoints"
    found = cluster.get(path)["checkpoints"]
    return {int(c["metadata"]["steps_completed"]): c for c in found}


def state_of(checkpoint: dict[str, Any]) -> str:
    return str(checkpoint["state"]).removeprefix("STATE_")


def storage(cluster: Cluster, experiment: int) -> Path:
    config = cluster.get(f"/api/v1/experiments/{experiment}")["config"]
    return Path(config["checkpoint_storage"]["host_path"])


def is_gone(cluster: Cluster, experiment: int) -> bool:
    try:
        cluster.get(f"/api/v1/experiments/{experiment}")
    except APIException as error:
        return error.status_code == 404
    return False


def test_an_ended_experiment_continues_from_its_checkpoint(cluster: Cluster) -> None:
    experiment = cluster.submit(ledger_config(cluster, "on"), {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    override = "environment: {environment_variables: [STEPS=12]}\n"
    body = {"id": experiment, "overrideConfig": override}
    answer = cluster.post("/api/v1/experiments/continue", body)["experiment"]
    assert (answer["id"], answer["endTime"]) == (experiment, None)
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert trial["totalBatchesProcessed"] == 12
    assert trial["restarts"] == 0
    found = cluster.get(f"/api/v1/trials/{trial['id']}")["trial"]
    assert found["taskIds"] == [found["taskIds"][0], f"{found['taskIds'][0]}-1"]
    lines = (cluster.root / "on" / f"{trial['id']}.jsonl").read_text()
    assert '"run": 2, "started": 8' in lines


@covers("experiment-config 14.layout 14.gc_triggers")
def test_checkpoints_that_no_policy_keeps_are_deleted_at_the_end_and_on_demand(
    cluster: Cluster,
) -> None:
    experiment = cluster.submit(ledger_config(cluster, "gc"), {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    until(lambda: state_of(checkpoints(cluster, experiment)[4]) == "DELETED", what="a collection")
    found = checkpoints(cluster, experiment)
    root = storage(cluster, experiment)
    assert state_of(found[8]) == "COMPLETED"
    assert not (root / found[4]["uuid"]).exists()
    assert (root / found[8]["uuid"] / "step").read_text() == "8"
    [trial] = cluster.trials(experiment)
    assert trial["checkpointCount"] == 1

    policy = {"saveExperimentBest": 0, "saveTrialBest": 0, "saveTrialLatest": 0}
    path = f"/api/v1/experiments/{experiment}"
    cluster.session().patch(path, json={"checkpointStorage": policy})
    until(lambda: state_of(checkpoints(cluster, experiment)[8]) == "DELETED", what="a collection")
    assert not (root / found[8]["uuid"]).exists()
    assert cluster.state(experiment) == "COMPLETED"


def test_files_of_a_checkpoint_are_removed_by_pattern(cluster: Cluster) -> None:
    experiment = cluster.submit(ledger_config(cluster, "rm"), {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    found = checkpoints(cluster, experiment)[8]
    body = {"checkpointUuids": [found["uuid"]], "checkpointGlobs": ["step"]}
    cluster.post("/api/v1/checkpoints/rm", body)

    def is_part() -> bool:
        return state_of(checkpoints(cluster, experiment)[8]) == "PARTIALLY_DELETED"

    until(is_part, what="a removal")
    left = checkpoints(cluster, experiment)[8]["resources"]
    assert "step" not in left
    assert left


def test_a_mistyped_storage_is_an_error_that_names_it_and_is_not_created(
    cluster: Cluster,
) -> None:
    path = cluster.root / "mistyped"
    storage = {"type": "shared_fs", "host_path": str(path)}
    wrong = config("python3 t.py", max_restarts=0, checkpoint_storage=storage)
    experiment = cluster.submit(wrong, {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "ERROR"
    [trial] = cluster.trials(experiment)
    remedy = f"checkpoint_storage.host_path {path} is not a directory of this agent"
    until(lambda: remedy in cluster.text(trial["id"]), what="the reason in the log")
    cluster.session().delete(f"/api/v1/experiments/{experiment}")
    until(lambda: is_gone(cluster, experiment), what="the deletion")
    assert not path.exists()


def test_a_storage_is_created_on_request(cluster: Cluster) -> None:
    path = cluster.root / "asked" / "for"
    storage = {"type": "shared_fs", "host_path": str(path), "create": True}
    asked = ledger_config(cluster, "asked-for") | {"checkpoint_storage": storage}
    experiment = cluster.submit(asked, {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    assert (path / checkpoints(cluster, experiment)[8]["uuid"] / "step").read_text() == "8"


def test_a_deleted_experiment_leaves_nothing_behind(cluster: Cluster) -> None:
    experiment = cluster.submit(ledger_config(cluster, "del"), {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    root = storage(cluster, experiment)
    uuids = [c["uuid"] for c in checkpoints(cluster, experiment).values()]
    cluster.session().delete(f"/api/v1/experiments/{experiment}")
    until(lambda: is_gone(cluster, experiment), what="the deletion")
    assert not any((root / uuid).exists() for uuid in uuids)
    tensorboards = list(root.glob(f"*/tensorboard/experiment/{experiment}"))
    assert tensorboards == []
    with pytest.raises(APIException):
        cluster.get(f"/api/v1/trials/{trial['id']}")


SHEDS = '''
"""Stores two checkpoints, and deletes the first one itself."""
from determined import core

with core.init() as context:
    uuids = []
    for step in (1, 2):
        metadata = {"steps_completed": step, "of": "mine"}
        with context.checkpoint.store_path(metadata) as (path, uuid):
            (path / "step").write_text(str(step))
        uuids.append(uuid)
    assert context.checkpoint.get_metadata(uuids[0])["of"] == "mine"
    context.checkpoint.delete(uuids[0])
'''


def test_a_trial_deletes_a_checkpoint_of_its_own(cluster: Cluster) -> None:
    experiment = cluster.submit(config(), {"t.py": SHEDS})
    assert cluster.wait(experiment) == "COMPLETED"
    found = checkpoints(cluster, experiment)
    assert {step: state_of(one) for step, one in found.items()} == {1: "DELETED", 2: "COMPLETED"}
    root = storage(cluster, experiment)
    assert not list(root.glob(f"{found[1]['uuid']}*"))
    assert (root / found[2]["uuid"] / "step").read_text() == "2"
    [trial] = cluster.trials(experiment)
    assert trial["checkpointCount"] == 1
