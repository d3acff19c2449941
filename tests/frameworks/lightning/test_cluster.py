"""A trainer of Lightning in a trial of a real cluster."""

from __future__ import annotations

import pytest
from tests.e2e.cluster import Cluster
from tests.frameworks.environment import frameworks_python

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

SCRIPT = """
import lightning.pytorch as pl
import torch
from determined.lightning.experimental import DetLogger

class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch, _):
        loss = self.layer(batch).pow(2).mean()
        self.log("train_loss", loss)
        return loss
    def validation_step(self, batch, _):
        self.log("val_loss", self.layer(batch).abs().mean())
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

logger = DetLogger()
trainer = pl.Trainer(
    logger=logger, max_epochs=2, log_every_n_steps=3, accelerator="cpu",
    enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
)
data = torch.utils.data.DataLoader(torch.ones(12, 2), batch_size=2)
trainer.fit(Module(), data, data)
print("trial", logger.version, "of experiment", logger.name)
"""


def test_a_trainer_reports_to_its_trial(cluster: Cluster) -> None:
    experiment = cluster.submit(
        {
            "name": "lightning",
            "entrypoint": [frameworks_python(), "train.py"],
            "searcher": {"name": "single", "metric": "val_loss"},
            "max_restarts": 0,
        },
        {"train.py": SCRIPT},
    )
    assert cluster.wait(experiment, 600) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    query = {"limit": -1}
    answer = cluster.session().get(f"/api/v1/trials/{trial['id']}/workloads", params=query)
    workloads = answer.json()["workloads"]
    steps = {
        group: [int(one[group]["totalBatches"]) for one in workloads if group in one]
        for group in ("training", "validation")
    }
    assert steps == {"training": [2, 5, 8, 11], "validation": [5, 11]}
    metrics = trial["bestValidation"]["metrics"]["avgMetrics"]
    assert metrics.keys() == {"val_loss", "epoch"}
    assert f"trial {trial['id']} of experiment {experiment}" in cluster.text(trial["id"])
