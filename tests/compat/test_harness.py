"""Tasks that run the harness of 0.38.1 against our master.

It looks for its files in /run/determined and /determined_shared_fs, where a container has them.
Tasks here are plain processes, so their entrypoint mounts both there, in a namespace of its own.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import ruamel.yaml
from tests.compat.client import MODEL, VERSION
from tests.e2e.cluster import Cluster, until

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


@pytest.fixture(scope="module")
def entrypoint(python: Path) -> list[str]:
    """Runs `train.py` with the published package, as in a container."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here, which mounts the run directory where it belongs")
    probe = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/run"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("this user may not make mount namespaces, which stand for a container")
    return ["sh", "as_container.sh", str(python), "train.py"]


def submitted(cluster: Cluster, entrypoint: list[str], **hparams: Any) -> int:
    text = (MODEL / "const.yaml").read_text()
    config = ruamel.yaml.YAML(typ="safe", pure=True).load(text)
    config |= {"entrypoint": entrypoint}
    config["hyperparameters"] |= hparams
    files = {path.name: path.read_text() for path in MODEL.iterdir() if path.is_file()}
    return cluster.submit(config, files)


def test_a_trial_reports_saves_and_completes(cluster: Cluster, entrypoint: list[str]) -> None:
    experiment = submitted(cluster, entrypoint)
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    log = cluster.text(trial["id"])
    assert f"harness {VERSION} trial {trial['id']}" in log
    assert "no metrics" not in log
    assert trial["totalBatchesProcessed"] == 3
    assert trial["latestValidation"]["metrics"]["avgMetrics"] == {"loss": 2 / 3, "acc": 0.3}
    cluster.summed(trial["id"], "avg_metrics", 3)
    path = f"/api/v1/experiments/{experiment}/checkpoints"
    checkpoints = cluster.get(path)["checkpoints"]
    assert sorted(c["metadata"]["steps_completed"] for c in checkpoints) == [1, 3]
    assert {c["training"]["searcherMetric"] for c in checkpoints} == {2, 2 / 3}
    found = cluster.get(f"/api/v1/experiments/{experiment}")["experiment"]
    assert found["progress"] == 1
    storage = Path(found["config"]["checkpoint_storage"]["host_path"])
    assert all(list((storage / c["uuid"]).iterdir()) for c in checkpoints)


def test_a_paused_trial_saves_leaves_and_resumes(cluster: Cluster, entrypoint: list[str]) -> None:
    experiment = submitted(cluster, entrypoint, steps=40, nap=0.1)
    [trial] = until(lambda: cluster.trials(experiment), what="a trial")

    def steps() -> int:
        return int(cluster.trials(experiment)[0]["totalBatchesProcessed"])

    until(lambda: steps() >= 3, what="steps")
    cluster.post(f"/api/v1/experiments/{experiment}/pause")
    until(lambda: cluster.trials(experiment)[0]["checkpointCount"] == 2, what="a checkpoint")
    before = steps()
    cluster.post(f"/api/v1/experiments/{experiment}/activate")
    assert cluster.wait(experiment) == "COMPLETED"
    log = cluster.text(trial["id"])
    assert f"resumed at {before}" in log
    cluster.summed(trial["id"], "avg_metrics", 40)
