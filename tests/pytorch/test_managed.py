"""A trial in its task: what the trainer tells the master, with a double of it."""

from __future__ import annotations

import json
import os

import pytest
from tests.harness.conftest import Task
from tests.harness.master_double import MasterDouble

TORCH_PYTHON = os.environ.get("TORCH_PYTHON", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.skipif(not TORCH_PYTHON, reason="TORCH_PYTHON names no Python: make test-torch"),
]

SCRIPT = """
import torch
from determined import InvalidHP, pytorch

class Model(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(2, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))
    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.ones(8, 2), batch_size=2)
    build_validation_data_loader = build_training_data_loader
    def train_batch(self, batch, epoch_idx, batch_idx):
        if self.context.get_hparam("lr") < 0:
            raise InvalidHP("a rate below 0")
        loss = self.model(batch).mean() ** 2
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return loss
    def evaluate_batch(self, batch, batch_idx):
        return {"loss": self.model(batch).mean().abs()}

with pytorch.init() as context:
    trainer = pytorch.Trainer(Model(context), context)
    trainer.fit(reporting_period=pytorch.Batch(5), validation_period=pytorch.Epoch(1))
"""


def run(task: Task, master: MasterDouble) -> None:
    master.serve_files({"train.py": SCRIPT})
    task.config["entrypoint"] = [TORCH_PYTHON, "train.py"]
    done = task.enter(TORCH_PYTHON)
    assert done.returncode == 0, done.stderr


def test_metrics_progress_and_checkpoints_are_reported(task: Task, master: MasterDouble) -> None:
    run(task, master)
    reports = [(r["group"], r["metrics"]["stepsCompleted"]) for r in master.reports()]
    assert [steps for group, steps in reports if group == "training"] == [4, 5, 8, 10]
    assert [steps for group, steps in reports if group == "validation"] == [4, 8, 10]
    told = [call.body["progress"] for call in master.named("POST", "/progress")]
    assert (told[0], told[-1]) == (0.4, 1.0)
    assert told == sorted(told)
    saved = [call.body for call in master.named("POST", "/api/v1/checkpoints")]
    assert [one["metadata"]["steps_completed"] for one in saved] == [4, 8, 10]
    assert saved[-1]["metadata"]["format"] == "pickle"
    assert saved[-1]["metadata"]["framework"].startswith("torch-2.")
    assert {"state_dict.pth", "load_data.json", "code/train.py"} <= saved[-1]["resources"].keys()


def test_hyperparameters_that_cannot_be_trained_end_the_trial_well(
    task: Task, master: MasterDouble
) -> None:
    task.env["DET_HPARAMS"] = json.dumps({"lr": -1})
    run(task, master)
    [told] = master.named("POST", "/early_exit")
    assert told.body["reason"] == "EXITED_REASON_INVALID_HP"
    assert master.named("POST", "/api/v1/checkpoints") == []
