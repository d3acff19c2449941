"""A small network, and runs of a trial that trains it."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import keras
import numpy as np

from determined import core
from determined.keras import DeterminedCallback

RECORDS = 24
BATCH = 4
EPOCH = RECORDS // BATCH
"""Batches of an epoch."""
EPOCHS = 3


class Reports(core.DummyTrainContext):
    """Keeps what is reported; refuses a second report of one step, as a master does."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, dict[int, dict[str, Any]]] = {"training": {}, "validation": {}}
        self.progress: list[float] = []

    def _report(self, group: str, steps_completed: int, metrics: Any, batch: Any = None) -> None:
        assert steps_completed not in self.made[group]
        assert {type(value) for value in metrics.values()} <= {int, float}
        self.made[group][steps_completed] = dict(metrics)

    def _try_report_progress(self, progress: float) -> None:
        self.progress.append(progress)


class Preempts(core.DummyPreemptContext):
    now = False

    def should_preempt(self, auto_ack: bool = True) -> bool:
        return self.now


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


class Trial:
    """Runs of one trial, each from the last checkpoint of the run before."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.trial_id: int | str = 7
        self.searcher: dict[str, Any] = {"name": "single", "metric": "val_loss"}
        self.is_managed = True
        self.reports = Reports()
        self.preempt: Any = None
        self.callbacks: list[Any] = []
        self.options: dict[str, Any] = {}
        self.build = build
        self.callback: Any = DeterminedCallback
        self.model: Any = None

    def checkpoints(self) -> list[dict[str, Any]]:
        """Metadata, in the order of their time."""
        paths = list((self.place / "storage").glob("*/metadata.json"))
        paths.sort(key=lambda path: path.stat().st_mtime_ns)
        return [{**json.loads(path.read_text()), "path": path.parent} for path in paths]

    def steps(self) -> list[int]:
        return [one["steps_completed"] for one in self.checkpoints()]

    def context(self) -> core.Context:
        context = core.make_dummy_context(None, str(self.place / "storage"))
        context.train = self.reports = Reports()
        context.preempt = self.preempt = Preempts(context.distributed)
        if self.is_managed:
            context.info = types.SimpleNamespace(  # type: ignore[assignment]
                task_type="TRIAL",
                trial=types.SimpleNamespace(_config={"searcher": self.searcher}),
            )
        return context

    def made_callback(self) -> Any:
        saved = self.checkpoints()
        latest = saved[-1]["path"].name if saved else None
        return self.callback(self.context(), latest, self.trial_id, **self.options)

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
