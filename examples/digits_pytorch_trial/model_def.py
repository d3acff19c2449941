"""A PyTorchTrial that learns scikit-learn's digits; the trainer runs its methods."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

from determined import pytorch

VALIDATION_SHARE = 0.25


def load_data() -> tuple[TensorDataset, TensorDataset]:
    """Images of shape (n, 1, 8, 8) with labels: to train on, and to validate with."""
    digits = load_digits()
    images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    held_out = int(len(images) * VALIDATION_SHARE)
    train, valid = order[held_out:], order[:held_out]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[valid], labels[valid])


class DigitsTrial(pytorch.PyTorchTrial):
    """A small convolutional network, trained with momentum and a falling learning rate."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        torch.set_num_threads(1)  # one slot is one core
        self.context = context
        self.train_set, self.valid_set = load_data()
        channels = context.get_hparam("channels")
        network = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(0.1),
            nn.Linear(2 * channels * 16, 10),
        )
        self.model = context.wrap_model(network)
        rate = context.get_hparam("learning_rate")
        optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=0.9)
        self.optimizer = context.wrap_optimizer(optimizer)
        self.scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.9),
            step_mode=pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )

    def build_training_data_loader(self) -> pytorch.DataLoader:
        """Each rank reads its share of the shuffled images."""
        size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(self.train_set, size, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        """The held-out images."""
        return pytorch.DataLoader(self.valid_set, 64)

    def train_batch(self, batch, epoch_idx: int, batch_idx: int) -> dict:
        """One step on the cross entropy."""
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(
            self.optimizer, clip_grads=lambda params: nn.utils.clip_grad_norm_(params, 1.0)
        )
        return {"loss": loss}

    def evaluate_batch(self, batch, batch_idx: int) -> dict:
        """How the batch was read; the trainer takes means over all batches."""
        images, labels = batch
        scores = self.model(images)
        return {
            "validation_loss": nn.functional.cross_entropy(scores, labels),
            "validation_accuracy": (scores.argmax(1) == labels).float().mean(),
        }
