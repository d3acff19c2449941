"""A trainer of Lightning in a trial of a real cluster."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.cluster import Cluster
from tests.frameworks.environment import frameworks_python

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

MODULE = """
import lightning.pytorch as pl
import os
import torch

class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch, _):
        loss = self.layer(batch).pow(2).mean()
        self.log("train_loss", loss)
        return loss
    def validation_step(self, batch, _):
        self.log("val_loss", self.layer(batch).abs().mean(), sync_dist=True)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

data = torch.utils.data.DataLoader(torch.ones(12, 2), batch_size=2)
options = {"log_every_n_steps": 3, "accelerator": "cpu", "enable_progress_bar": False}
"""

LOGGED = """
from determined.lightning.experimental import DetLogger
from module import *

logger = DetLogger()
trainer = pl.Trainer(logger=logger, max_epochs=2, enable_checkpointing=False, **options)
trainer.fit(Module(), data, data)
print("trial", logger.version, "of experiment", logger.name)
"""

KILLED = """
import logging
from determined import core
from determined.lightning import DetCallback
from module import *

class Killed(pl.Callback):
    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch == 2 and core_context.info.latest_checkpoint is None:
            core_context.distributed.gather(None)
            os.kill(os.getpid(), 9)

logging.basicConfig(level=logging.INFO)
torch.distributed.init_process_group("gloo")
distributed = core.DistributedContext.from_torch_distributed()
with core.init(distributed=distributed) as core_context:
    callback = DetCallback(core_context)
    trainer = pl.Trainer(
        callbacks=[callback, Killed()], strategy="ddp", devices=2, max_epochs=4, **options
    )
    trainer.fit(Module(), data, data, ckpt_path=callback.ckpt_path)
"""


def steps(cluster: Cluster, trial: int) -> dict[str, list[int]]:
    """Steps of the reports by group."""
    query = {"limit": -1}
    answer = cluster.session().get(f"/api/v1/trials/{trial}/workloads", params=query)
    workloads = answer.json()["workloads"]
    return {
        group: [int(one[group]["totalBatches"]) for one in workloads if group in one]
        for group in ("training", "validation", "checkpoint")
    }


def submit(cluster: Cluster, script: str, *launcher: str, **more: Any) -> int:
    return cluster.submit(
        {
            "name": "lightning",
            "entrypoint": [frameworks_python(), *launcher, "train.py"],
            "searcher": {"name": "single", "metric": "val_loss"},
            "max_restarts": 0,
            **more,
        },
        {"train.py": script, "module.py": MODULE},
    )


def test_a_trainer_reports_to_its_trial(cluster: Cluster) -> None:
    experiment = submit(cluster, LOGGED)
    assert cluster.wait(experiment, 600) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    made = steps(cluster, trial["id"])
    assert (made["training"], made["validation"]) == ([2, 5, 8, 11], [5, 11])
    metrics = trial["bestValidation"]["metrics"]["avgMetrics"]
    assert metrics.keys() == {"val_loss", "epoch"}
    assert f"trial {trial['id']} of experiment {experiment}" in cluster.text(trial["id"])


def test_two_killed_ranks_resume_with_their_last_checkpoint(cluster: Cluster) -> None:
    launcher = ("-m", "determined.launch.torch_distributed", frameworks_python())
    variables = [f"DET_PYTHON_EXECUTABLE={frameworks_python()}", "OMP_NUM_THREADS=1"]
    experiment = submit(
        cluster,
        KILLED,
        *launcher,
        max_restarts=1,
        resources={"slots_per_trial": 2},
        environment={"environment_variables": variables},
    )
    state = cluster.wait(experiment, 600)
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert state == "COMPLETED", text
    assert (trial["restarts"], "resuming at step 6" in text) == (1, True)
    made = steps(cluster, trial["id"])
    assert made["checkpoint"] == [3, 6, 9, 12]
    assert made["validation"][-2:] == [9, 12]  # the kill may lose reports that were on their way
