"""A small network, and runs of a trial that trains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
from tests.frameworks.small_trial import SmallTrial

from determined.keras import DeterminedCallback

RECORDS = 24
BATCH = 4
EPOCH = RECORDS // BATCH
"""Batches of an epoch."""
EPOCHS = 3


class AtEpoch(keras.callbacks.Callback):
    """Calls a function at the begin of an epoch."""

    def __init__(self, epoch: int, act: Any) -> None:
        super().__init__()
        self._epoch, self._act = epoch, act
        self.epochs: list[int] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epochs.append(epoch)
        if epoch == self._epoch:
            self._act()


def build(width: int = 8) -> Any:
    """A network with dropout, which draws random numbers, and an optimizer with two moments."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dropout(0.25),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="mse", metrics=["mae"])
    return model


class Trial(SmallTrial):
    """A trial of that network."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.build = build
        self.callback: Any = DeterminedCallback
        self.model: Any = None

    def made_callback(self) -> Any:
        return self.callback(self.context(), self.latest(), self.trial_id, **self.options)

    def run(self, **arguments: Any) -> Any:
        """Train a new network; return it."""
        self.model = self.build()
        records = np.random.default_rng(5).normal(size=(RECORDS, 4)).astype("float32")
        labels = records.sum(axis=1, keepdims=True)
        settings = {"epochs": EPOCHS, "batch_size": BATCH, "verbose": 0}
        settings["validation_data"] = (records[:8], labels[:8])
        callback = self.made_callback()
        self.model.fit(
            records, labels, callbacks=[*self.callbacks, callback], **{**settings, **arguments}
        )
        return self.model


def weights(model: Any) -> list[bytes]:
    """Every weight, also of the optimizer, bit by bit."""
    variables = [*model.weights, *model.optimizer.variables]
    return [keras.ops.convert_to_numpy(one.value).tobytes() for one in variables]
