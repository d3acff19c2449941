"""Trains a small network on scikit-learn's digits, with DeepSpeed.

Run by itself (`python train.py`) it trains once with the defaults below, and logs its reports. On
several slots, each rank trains on a part of every batch.
"""

from __future__ import annotations

import logging
import os
import pathlib

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one slot is one core

import deepspeed
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset

import determined as det
from determined import pytorch
from determined.pytorch import deepspeed as det_ds

EPOCHS = int(os.environ.get("EPOCHS", "15"))
VALIDATION_SHARE = 0.25
CONFIG = str(pathlib.Path(__file__).with_name("ds_config.json"))
DEFAULTS = {"hidden": 64, "overwrite_deepspeed_args": {}}


def load_data() -> tuple:
    """Images of shape (n, 64) with labels: to train on, and to validate with."""
    digits = load_digits()
    images = torch.tensor(digits.data / 16.0, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    order = np.random.default_rng(0).permutation(len(images))
    held_out = int(len(images) * VALIDATION_SHARE)
    train, valid = order[held_out:], order[:held_out]
    return (
        TensorDataset(images[train], labels[train]),
        TensorDataset(images[valid], labels[valid]),
    )


class Digits(det_ds.DeepSpeedTrial):
    """Two layers."""

    def __init__(self, context: det_ds.DeepSpeedTrialContext) -> None:
        self.context = context
        hidden = int(context.get_hparam("hidden"))
        net = torch.nn.Sequential(
            torch.nn.Linear(64, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 10)
        )
        config = det_ds.overwrite_deepspeed_config(
            CONFIG, context.get_hparam("overwrite_deepspeed_args")
        )
        engine, *_ = deepspeed.initialize(
            model=net, model_parameters=net.parameters(), config=config
        )
        self.engine = context.wrap_model_engine(engine)
        self.train_set, self.valid_set = load_data()

    def build_training_data_loader(self) -> pytorch.DataLoader:
        size = self.context.train_micro_batch_size_per_gpu
        return pytorch.DataLoader(self.train_set, size, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.valid_set, 64)

    def train_batch(self, batches, epoch_idx: int, batch_idx: int) -> dict:
        images, labels = self.context.to_device(next(batches))
        loss = torch.nn.functional.cross_entropy(self.engine(images), labels)
        self.engine.backward(loss)
        self.engine.step()
        return {"loss": loss}

    def evaluate_batch(self, batches, batch_idx: int) -> dict:
        images, labels = self.context.to_device(next(batches))
        return {"accuracy": (self.engine(images).argmax(1) == labels).float().mean()}


def main() -> None:
    """Train as the experiment asks, or with the defaults where there is none."""
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det_ds.init(hparams=DEFAULTS) as context:
        trainer = det_ds.Trainer(Digits(context), context)
        trainer.fit(
            max_length=pytorch.Epoch(EPOCHS),
            validation_period=pytorch.Epoch(1),
            reporting_period=pytorch.Epoch(1),
        )


if __name__ == "__main__":
    main()
