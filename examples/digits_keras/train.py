"""Trains a small convolutional network on scikit-learn's digits, with Keras 3.

The back end is PyTorch, if `KERAS_BACKEND` names no other. Run by itself (`python train.py`) it
trains once with the defaults below, and logs its reports.
"""

from __future__ import annotations

import logging
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # one slot is one core

import keras
import numpy as np
from sklearn.datasets import load_digits

import determined as det
from determined import core
from determined.keras import DeterminedCallback

EPOCHS = int(os.environ.get("EPOCHS", "8"))
VALIDATION_SHARE = 0.25
DEFAULTS = {"learning_rate": 0.01, "channels": 16, "dropout": 0.2, "batch_size": 64}


def load_data() -> tuple:
    """Images of shape (n, 8, 8, 1) with labels: to train on, and to validate with."""
    digits = load_digits()
    images = (digits.images / 16.0).astype("float32")[..., None]
    order = np.random.default_rng(0).permutation(len(images))
    held_out = int(len(images) * VALIDATION_SHARE)
    train, valid = order[held_out:], order[:held_out]
    return (images[train], digits.target[train]), (images[valid], digits.target[valid])


def build(hparams: dict) -> keras.Model:
    """The network, untrained."""
    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 1)),
            keras.layers.Conv2D(int(hparams["channels"]), 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(
                int(hparams["channels"]) * 2, 3, padding="same", activation="relu"
            ),
            keras.layers.Flatten(),
            keras.layers.Dropout(float(hparams["dropout"])),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(float(hparams["learning_rate"])),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def main() -> None:
    """Train as the experiment asks, or with the defaults where there is none."""
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = {**DEFAULTS, **(info.trial.hparams if info else {})}
    keras.utils.set_random_seed(info.trial.trial_seed if info else 0)
    train, valid = load_data()
    model = build(hparams)
    with core.init() as context:
        callback = DeterminedCallback(
            context,
            checkpoint=info.latest_checkpoint if info else None,
            continue_id=info.trial.trial_id if info else "alone",
        )
        model.fit(
            *train,
            batch_size=int(hparams["batch_size"]),
            epochs=EPOCHS,
            validation_data=valid,
            verbose=2,
            callbacks=[callback],
        )
    accuracy = model.evaluate(*valid, verbose=0, return_dict=True)["accuracy"]
    logging.info("validation accuracy %.4f with %s", accuracy, hparams)


if __name__ == "__main__":
    main()
