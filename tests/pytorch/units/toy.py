"""A small trial that draws from every generator, and what the tests do with it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import TensorDataset

from determined import core, pytorch
from determined.pytorch._context import PyTorchTrialContext

EPOCH = 10
"""Batches of an epoch."""


def data(records: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(records, 4, generator=generator)
    return TensorDataset(inputs, inputs.sum(1, keepdim=True))


class ToyTrial(pytorch.PyTorchTrial):
    """A linear model with dropout and noise; `acts` are functions by batch, called before it."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.acts: dict[int, Any] = {}
        self.seen: list[tuple[int, int]] = []
        self.batches: list[list[float]] = []
        self.callbacks: dict[str, pytorch.PyTorchCallback] = {}
        layers = (torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        self.model = context.wrap_model(torch.nn.Sequential(*layers))
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=0.01))
        self.scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.9),
            pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )

    def build_training_data_loader(self) -> Any:
        return pytorch.DataLoader(data(4 * EPOCH), batch_size=4, shuffle=True)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(data(10), batch_size=4)

    def build_callbacks(self) -> dict[str, pytorch.PyTorchCallback]:
        return self.callbacks

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        self.acts.get(batch_idx, lambda: None)()
        self.seen.append((epoch_idx, batch_idx))
        inputs, targets = batch
        self.batches.append(inputs[:, 0].tolist())
        noise = random.random() + float(np.random.rand())
        loss = ((self.model(inputs) - targets) ** 2).mean() * (1 + noise)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        torch.rand(3)  # a validation that draws must not move training
        inputs, targets = batch
        return {"error": ((self.model(inputs) - targets) ** 2).mean()}


class Reports(core.DummyTrainContext):
    """Keeps what is reported."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[str, int, dict[str, Any]]] = []
        self.progress: list[float] = []

    def _report(self, group: str, steps_completed: int, metrics: Any, batch: Any = None) -> None:
        self.made.append((group, steps_completed, metrics))

    def _try_report_progress(self, progress: float) -> None:
        self.progress.append(progress)

    def of(self, group: str) -> list[tuple[int, dict[str, Any]]]:
        return [(steps, metrics) for name, steps, metrics in self.made if name == group]


class Preempts(core.DummyPreemptContext):
    """Asks to leave once `now` is set."""

    now = False

    def should_preempt(self, auto_ack: bool = True) -> bool:
        return bool(self._dist.broadcast(self.now))


class Bench:
    """Contexts whose checkpoints lie in one directory; each is as of a new process."""

    def __init__(self, storage: Path, ranks: core.DistributedContext | None = None) -> None:
        self.storage = storage
        self.ranks = ranks
        self.reports = Reports()
        self.config: dict[str, Any] = {}

    def trial(self, kind: type = ToyTrial, seed: int = 3, aggregation: int = 1) -> Any:
        from determined.pytorch._training import rng

        made = core.make_dummy_context(self.ranks, str(self.storage))
        made.train = self.reports = Reports()
        made.preempt = Preempts(made.distributed)
        rng.seed_all(seed)
        return kind(
            PyTorchTrialContext(
                core_context=made,
                trial_seed=seed,
                hparams={"global_batch_size": 4},
                slots_per_trial=made.distributed.size,
                num_gpus=0,
                exp_conf=self.config,
                aggregation_frequency=aggregation,
                steps_completed=0,
                managed_training=False,
                debug_enabled=False,
            )
        )

    def fit(self, trial: Any, **arguments: Any) -> Any:
        pytorch.Trainer(trial, trial.context).fit(**arguments)
        return trial

    def checkpoints(self) -> list[str]:
        """Uuids, in the order of their steps."""
        import json

        found = []
        for path in self.storage.glob("*/metadata.json"):
            steps = json.loads(path.read_text())["steps_completed"]
            found.append((steps, path.parent.stat().st_mtime_ns, path.parent.name))
        return [name for _, _, name in sorted(found)]

    def steps(self) -> list[int]:
        """Steps of the checkpoints."""
        import json

        paths = self.storage.glob("*/metadata.json")
        return sorted(json.loads(p.read_text())["steps_completed"] for p in paths)


def weights(trial: Any) -> list[Any]:
    """Every number that training has made, bit by bit."""
    parts = [value for value in trial.model.state_dict().values()]
    for state in trial.optimizer.state_dict()["state"].values():
        parts += [value for value in state.values() if isinstance(value, torch.Tensor)]
    return [part.cpu().numpy().tobytes() for part in parts]
