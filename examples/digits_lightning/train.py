"""Trains a small convolutional network on scikit-learn's digits, with Lightning.

Run by itself (`python train.py`) it trains once with the defaults below, and logs its reports. On
several slots, each rank trains on a part of every batch.
"""

from __future__ import annotations

import logging
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one slot is one core

import lightning
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import determined as det
from determined import core
from determined.lightning import DetCallback

EPOCHS = int(os.environ.get("EPOCHS", "10"))
VALIDATION_SHARE = 0.25
DEFAULTS = {"learning_rate": 0.005, "channels": 16, "dropout": 0.2, "global_batch_size": 64}


def load_data() -> tuple:
    """Images of shape (n, 1, 8, 8) with labels: to train on, and to validate with."""
    digits = load_digits()
    images = torch.tensor(digits.images / 16.0, dtype=torch.float32)[:, None]
    labels = torch.tensor(digits.target)
    order = np.random.default_rng(0).permutation(len(images))
    held_out = int(len(images) * VALIDATION_SHARE)
    train, valid = order[held_out:], order[:held_out]
    return (
        TensorDataset(images[train], labels[train]),
        TensorDataset(images[valid], labels[valid]),
    )


class Digits(lightning.LightningModule):
    """Two convolutions and a linear layer."""

    def __init__(self, learning_rate: float, channels: int, dropout: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, channels, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(channels, channels * 2, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Dropout(dropout),
            torch.nn.Linear(channels * 2 * 16, 10),
        )

    def training_step(self, batch: tuple, _: int) -> torch.Tensor:
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(self.layers(images), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: tuple, _: int) -> None:
        images, labels = batch
        correct = (self.layers(images).argmax(1) == labels).float().mean()
        self.log("val_accuracy", correct, batch_size=len(labels), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.hparams.learning_rate)


def ranks() -> core.DistributedContext | None:
    """The ranks that the launcher has started; None for one process."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return None
    torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return core.DistributedContext.from_torch_distributed()


def main() -> None:
    """Train as the experiment asks, or with the defaults where there is none."""
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = {**DEFAULTS, **(info.trial.hparams if info else {})}
    lightning.seed_everything(info.trial.trial_seed if info else 0)
    train, valid = load_data()
    model = Digits(
        float(hparams["learning_rate"]), int(hparams["channels"]), float(hparams["dropout"])
    )
    with core.init(distributed=ranks()) as context:
        size = context.distributed.size
        batch_size = int(hparams["global_batch_size"]) // size
        callback = DetCallback(context)
        trainer = lightning.Trainer(
            max_epochs=EPOCHS,
            callbacks=[callback],
            devices=context.distributed.local_size,
            num_nodes=context.distributed.cross_size,
            strategy="ddp" if size > 1 else "auto",
            log_every_n_steps=10,
            logger=False,
            enable_progress_bar=False,
        )
        trainer.fit(
            model,
            DataLoader(train, batch_size, shuffle=True),
            DataLoader(valid, 512),
            ckpt_path=callback.ckpt_path,
        )
        accuracy = trainer.callback_metrics.get("val_accuracy")
        if context.distributed.rank == 0 and accuracy is not None:
            logging.info("validation accuracy %.4f with %s", accuracy, hparams)


if __name__ == "__main__":
    main()
