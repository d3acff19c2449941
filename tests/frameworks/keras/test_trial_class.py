"""A trial class of Keras on a real cluster, killed and resumed."""

from __future__ import annotations

import pytest
from tests.e2e.cluster import Cluster
from tests.frameworks.environment import frameworks_python

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

MODEL_DEF = """
import os
import keras
import numpy as np
from determined.keras import TFKerasTrial

class Killed(keras.callbacks.Callback):
    def __init__(self, context):
        super().__init__()
        self.context = context
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2 and self.context.env.latest_checkpoint is None:
            os.kill(os.getpid(), 9)

class Regression(TFKerasTrial):
    def __init__(self, context):
        self.context = context
    def build_model(self):
        model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
        model.compile(self.context.get_hparam("optimizer"), "mse")
        return self.context.wrap_model(model)
    def build_training_data_loader(self):
        return np.ones((12, 2)), np.ones((12, 1))
    def build_validation_data_loader(self):
        return np.ones((4, 2)), np.ones((4, 1))
    def keras_callbacks(self):
        return [Killed(self.context)]
"""


def test_a_killed_class_resumes_with_its_last_checkpoint(cluster: Cluster) -> None:
    variables = [f"DET_PYTHON_EXECUTABLE={frameworks_python()}", "KERAS_BACKEND=torch"]
    experiment = cluster.submit(
        {
            "name": "regression",
            "entrypoint": "model_def:Regression",
            "searcher": {"name": "single", "metric": "val_loss", "max_length": {"epochs": 4}},
            "hyperparameters": {"global_batch_size": 4, "optimizer": "sgd"},
            "environment": {"environment_variables": variables},
            "max_restarts": 1,
        },
        {"model_def.py": MODEL_DEF},
    )
    state = cluster.wait(experiment, 600)
    [trial] = cluster.trials(experiment)
    assert state == "COMPLETED", cluster.text(trial["id"])
    assert (trial["restarts"], trial["totalBatchesProcessed"]) == (1, 12)
    text = cluster.text(trial["id"])
    assert "after 2 epochs" in text
    query = {"limit": -1}
    answer = cluster.session().get(f"/api/v1/trials/{trial['id']}/workloads", params=query)
    parts = [one["checkpoint"] for one in answer.json()["workloads"] if "checkpoint" in one]
    assert [int(part["totalBatches"]) for part in parts] == [3, 6, 9, 12]
