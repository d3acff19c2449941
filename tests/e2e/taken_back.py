"""An experiment that trains until its machine is taken back, and continues on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.e2e.cloud_lab import PACKAGES
from tests.e2e.cluster_api import ClusterApi

MODEL = """
# Trains until it is asked to leave. Its next run reads what was saved, and ends.
import os, time
import determined as det

info = det.get_cluster_info()
step = int(os.environ["DET_STEPS_COMPLETED"])
with det.core.init() as core:
    if info.latest_checkpoint:
        with core.checkpoint.restore_path(info.latest_checkpoint) as path:
            print(info.agent_id, "continues with", (path / "weights").read_text(), flush=True)
    while True:
        step += 1
        core.train.report_validation_metrics(step, {"loss": 1 / step})
        if info.latest_checkpoint or core.preempt.should_preempt():
            break
        time.sleep(0.05)
    with core.checkpoint.store_path({"steps_completed": step}) as (path, _):
        (path / "weights").write_text(f"{step} steps of {info.agent_id}")
"""


def config(variables: Mapping[str, str]) -> dict[str, Any]:
    """The configuration of its one trial, with variables for the task."""
    # Checkpoints in a bucket need obstore and authorities, which the image of the tests lacks.
    packages = {"host_path": PACKAGES, "container_path": "/packages", "read_only": True}
    given = {
        "PYTHONPATH": "/packages",
        "SSL_CERT_FILE": "/packages/certifi/cacert.pem",
        **variables,
    }
    return {
        "name": "on demand",
        "entrypoint": "python3 train.py",
        "searcher": {"name": "single", "metric": "loss"},
        "max_restarts": 0,
        # Both runs' checkpoints stay: a task that deletes one would need a machine of the other
        # pool.
        "checkpoint_storage": {"save_trial_latest": 2},
        "bind_mounts": [packages],
        "environment": {
            "environment_variables": [f"{name}={value}" for name, value in given.items()]
        },
    }


def has_begun(cluster: ClusterApi, experiment: int) -> bool:
    """Whether its trial has reported a step; fails with the trial's log if it has ended."""
    [trial] = cluster.trials(experiment)
    assert "ERROR" not in trial["state"], cluster.text(trial["id"])
    return bool(trial["totalBatchesProcessed"])


def checkpoints(cluster: ClusterApi, experiment: int) -> list[Any]:
    """Its checkpoints."""
    found: list[Any] = cluster.get(f"/api/v1/experiments/{experiment}/checkpoints")["checkpoints"]
    return found
