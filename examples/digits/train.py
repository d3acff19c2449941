"""Trains a small network on scikit-learn's handwritten digits, and reports to Determined.

On a cluster it takes its hyperparameters from the experiment, resumes from the trial's latest
checkpoint, and leaves when it is asked to. Run by itself (`python train.py`) it trains once
with the defaults below and logs what it would report.
"""

from __future__ import annotations

import logging
import os
import pathlib

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one slot is one core; numpy reads it on import

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import determined as det
from determined import core

EPOCHS = 16
CHECKPOINT_EVERY = 4
VALIDATION_SHARE = 0.25
DEFAULTS = {"learning_rate": 0.01, "hidden_size": 64, "alpha": 1e-4, "batch_size": 32}
CLASSES = np.arange(10)


def load_data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images and labels to train on, and to validate with.

    Training images come five times: as they are, and moved by one pixel to each side.
    """
    digits = load_digits()
    train, valid, train_labels, valid_labels = train_test_split(
        digits.images / 16.0,
        digits.target,
        test_size=VALIDATION_SHARE,
        random_state=0,
        stratify=digits.target,
    )
    moved = [train, *(shift(train, *step) for step in ((0, 1), (0, -1), (1, 0), (-1, 0)))]
    images = np.concatenate(moved).reshape(-1, 64)
    return images, np.tile(train_labels, len(moved)), valid.reshape(-1, 64), valid_labels


def shift(images: np.ndarray, down: int, right: int) -> np.ndarray:
    """Images of shape (n, 8, 8) moved by a pixel; what comes in at the edge is empty."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    return padded[:, 1 - down : 9 - down, 1 - right : 9 - right]


def build(hparams: dict, seed: int) -> MLPClassifier:
    """The network, untrained."""
    return MLPClassifier(
        hidden_layer_sizes=(int(hparams["hidden_size"]),),
        solver="sgd",
        momentum=0.9,
        learning_rate_init=float(hparams["learning_rate"]),
        alpha=float(hparams["alpha"]),
        batch_size=int(hparams["batch_size"]),
        random_state=seed % 2**32,
    )


def save(context: core.Context, model: MLPClassifier, epoch: int) -> None:
    """Store the weights as a checkpoint."""
    arrays = {f"coef_{i}": w for i, w in enumerate(model.coefs_)}
    arrays.update({f"intercept_{i}": w for i, w in enumerate(model.intercepts_)})
    with context.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
        np.savez(path / "weights.npz", epoch=epoch, **arrays)


def load(model: MLPClassifier, path: pathlib.Path, images: np.ndarray) -> int:
    """Read a checkpoint's weights into the network; return the epochs it had been trained."""
    model.partial_fit(images[:10], np.arange(10), classes=CLASSES)  # makes the arrays
    with np.load(path / "weights.npz", allow_pickle=False) as stored:
        for i in range(len(model.coefs_)):
            model.coefs_[i][:] = stored[f"coef_{i}"]
            model.intercepts_[i][:] = stored[f"intercept_{i}"]
        return int(stored["epoch"])


def train(context: core.Context, hparams: dict, seed: int, latest: str | None) -> float:
    """Train to the last epoch, or until asked to leave; return the validation accuracy."""
    images, labels, valid_images, valid_labels = load_data()
    model = build(hparams, seed)
    epoch, accuracy, saved = 0, 0.0, -1
    if latest is not None:
        with context.checkpoint.restore_path(latest) as path:
            epoch = saved = load(model, path, images)
    while epoch < EPOCHS:
        order = np.random.default_rng(seed + epoch).permutation(len(images))
        model.partial_fit(images[order], labels[order], classes=CLASSES)
        epoch += 1
        accuracy = float(model.score(valid_images, valid_labels))
        context.train.report_training_metrics(epoch, {"loss": float(model.loss_), "epochs": epoch})
        context.train.report_validation_metrics(
            epoch, {"validation_accuracy": accuracy, "epochs": epoch}
        )
        context.train.report_progress(epoch / EPOCHS)
        if epoch % CHECKPOINT_EVERY == 0:
            save(context, model, epoch)
            saved = epoch
        if context.preempt.should_preempt():
            break
    if saved != epoch:
        save(context, model, epoch)
    return accuracy


def main() -> None:
    """Train as the experiment asks, or with the defaults where there is none."""
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = {**DEFAULTS, **(info.trial.hparams if info else {})}
    seed = info.trial.trial_seed if info else 0
    latest = info.latest_checkpoint if info else None
    with core.init() as context:
        accuracy = train(context, hparams, seed, latest)
    logging.info("validation accuracy %.4f with %s", accuracy, hparams)


if __name__ == "__main__":
    main()
