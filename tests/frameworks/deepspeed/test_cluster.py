"""Trials of DeepSpeed on a real cluster."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.cluster import Cluster
from tests.frameworks.deepspeed.extensions import extension_variables
from tests.frameworks.environment import frameworks_python

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

MODEL = """
import os
import deepspeed
import torch
from determined import pytorch
from determined.pytorch import deepspeed as det_ds

class Model(det_ds.DeepSpeedTrial):
    def __init__(self, context):
        self.context = context
        net = torch.nn.Linear(2, 1)
        config = det_ds.overwrite_deepspeed_config("ds.json", context.get_hparams())
        engine, *_ = deepspeed.initialize(
            model=net, model_parameters=net.parameters(), config=config
        )
        self.engine = context.wrap_model_engine(engine)
    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.ones(16, 2), batch_size=2)
    build_validation_data_loader = build_training_data_loader
    def train_batch(self, batches, epoch_idx, batch_idx):
        info = self.context._core.info
        if batch_idx == 5 and info.latest_checkpoint is None and os.environ.get("KILLED"):
            os.kill(os.getpid(), 9)
        loss = self.engine(self.context.to_device(next(batches))).pow(2).mean()
        self.engine.backward(loss)
        self.engine.step()
        return loss
    def evaluate_batch(self, batches, batch_idx):
        return {"error": self.engine(self.context.to_device(next(batches))).abs().mean()}
"""
SCRIPT = """
from model import det_ds, Model, pytorch
with det_ds.init() as context:
    print("rank", context.distributed.rank, "of", context.distributed.size)
    det_ds.Trainer(Model(context), context).fit(
        max_length=pytorch.Batch(8), checkpoint_period=pytorch.Batch(4)
    )
"""
CONFIG = """{
  "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1,
  "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": true}}
}"""


def run(cluster: Cluster, entrypoint: list[str] | str, **more: Any) -> tuple[dict[str, Any], str]:
    """The trial of an experiment that has completed, and its log."""
    variables = {
        **extension_variables(),
        "DET_PYTHON_EXECUTABLE": frameworks_python(),
        "OMP_NUM_THREADS": "1",
        **more.pop("variables", {}),
    }
    config = {
        "name": "deepspeed",
        "entrypoint": entrypoint,
        "hyperparameters": {"zero_optimization": {"stage": 2}},
        "searcher": {"name": "single", "metric": "error", "max_length": {"batches": 8}},
        "environment": {"environment_variables": [f"{k}={v}" for k, v in variables.items()]},
        **more,
    }
    files = {"model.py": MODEL, "train.py": SCRIPT, "ds.json": CONFIG}
    experiment = cluster.submit(config, files)
    state = cluster.wait(experiment, 600)
    [trial] = cluster.trials(experiment)
    text = cluster.text(trial["id"])
    assert state == "COMPLETED", text
    return trial, text


@pytest.mark.parametrize("launcher", ["deepspeed", "torch_distributed"])
def test_two_killed_ranks_resume_with_their_last_checkpoint(
    cluster: Cluster, launcher: str
) -> None:
    python = frameworks_python()
    trial, text = run(
        cluster,
        [python, "-m", f"determined.launch.{launcher}", python, "train.py"],
        variables={"KILLED": "yes"},
        resources={"slots_per_trial": 2},
        max_restarts=1,
    )
    assert ("rank 0 of 2" in text, "rank 1 of 2" in text) == (True, True)
    assert trial["restarts"] == 1
    assert trial["totalBatchesProcessed"] == 8
    assert trial["bestValidation"]["metrics"]["avgMetrics"].keys() == {
        "error",
        "batches",
        "epochs",
    }


def test_a_class_is_trained_by_the_configuration(cluster: Cluster) -> None:
    trial, _ = run(
        cluster,
        "model:Model",
        resources={"slots_per_trial": 2},
        max_restarts=0,
    )
    assert trial["totalBatchesProcessed"] == 8
