"""A small DeepSpeed trial, and its contexts without a master."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule
from tests.frameworks.small_trial import Preempts, Reports

from determined import core, pytorch
from determined.pytorch import deepspeed as det_ds
from determined.pytorch._training import rng

MICRO_BATCH = 2
MICRO_BATCHES = 2
"""Micro batches of a batch."""
LAYERS = (4, 8, 1)
SEED = 3


def configuration(stage: int = 0) -> dict[str, Any]:
    return {
        "train_micro_batch_size_per_gpu": MICRO_BATCH,
        "gradient_accumulation_steps": MICRO_BATCHES,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
        "zero_optimization": {"stage": stage},
    }


def data(records: int) -> Any:
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(records, LAYERS[0], generator=generator)
    return torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True))


class Model(torch.nn.Module):
    """Two layers, and dropout, which needs the generators of a resumed run."""

    def __init__(self) -> None:
        super().__init__()
        first, hidden, last = LAYERS
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(first, hidden), torch.nn.Dropout(0.5), torch.nn.Linear(hidden, last)
        )

    def forward(self, inputs: Any) -> Any:
        return self.layers(inputs)


class SmallTrial(det_ds.DeepSpeedTrial):
    """`acts` are functions by batch, called before each of its micro batches."""

    stage = 0

    def __init__(self, context: det_ds.DeepSpeedTrialContext) -> None:
        self.context = context
        self.acts: dict[int, Any] = {}
        self.seen: list[tuple[int, int]] = []
        self.records: list[float] = []
        self.evaluated: list[int] = []
        self.callbacks: dict[str, pytorch.PyTorchCallback] = {}
        self.engine = context.wrap_model_engine(self.initialized())

    def initialized(self) -> Any:
        model = Model()
        engine, *_ = deepspeed.initialize(
            model=model, model_parameters=model.parameters(), config=configuration(self.stage)
        )
        return engine

    def build_training_data_loader(self) -> Any:
        return pytorch.DataLoader(data(40), batch_size=MICRO_BATCH, shuffle=True)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(data(10), batch_size=MICRO_BATCH)

    def build_callbacks(self) -> dict[str, pytorch.PyTorchCallback]:
        return self.callbacks

    def train_batch(self, dataloader_iter: Any, epoch_idx: int, batch_idx: int) -> Any:
        self.acts.get(batch_idx, lambda: None)()
        self.seen.append((epoch_idx, batch_idx))
        inputs, targets = self.context.to_device(next(dataloader_iter))
        self.records += inputs[:, 0].tolist()
        loss = (self.engine(inputs) - targets).pow(2).mean()
        self.engine.backward(loss)
        self.engine.step()
        return loss

    def evaluate_batch(self, dataloader_iter: Any, batch_idx: int) -> dict[str, Any]:
        self.evaluated.append(batch_idx)
        torch.rand(3)  # a validation that draws must not change training
        inputs, targets = self.context.to_device(next(dataloader_iter))
        return {"error": (self.engine(inputs) - targets).pow(2).mean()}


class PipelineTrial(SmallTrial):
    """The same layers as two stages."""

    def initialized(self) -> Any:
        first, hidden, last = LAYERS
        layers = [
            LayerSpec(torch.nn.Linear, first, hidden),
            LayerSpec(torch.nn.ReLU),
            LayerSpec(torch.nn.Linear, hidden, last),
        ]
        model = PipelineModule(layers=layers, num_stages=2, loss_fn=torch.nn.MSELoss())
        parameters = [one for one in model.parameters() if one.requires_grad]
        engine, *_ = deepspeed.initialize(
            model=model, model_parameters=parameters, config=configuration()
        )
        return engine

    def train_batch(self, dataloader_iter: Any, epoch_idx: int, batch_idx: int) -> Any:
        self.acts.get(batch_idx, lambda: None)()
        self.seen.append((epoch_idx, batch_idx))
        return {"loss": self.engine.train_batch(dataloader_iter)}

    def evaluate_batch(self, dataloader_iter: Any, batch_idx: int) -> dict[str, Any]:
        self.evaluated.append(batch_idx)
        return {"error": self.engine.eval_batch(dataloader_iter)}


class Runs:
    """Runs of one trial, whose checkpoints lie in one directory."""

    def __init__(self, storage: Path, ranks: core.DistributedContext | None = None) -> None:
        self.storage = storage
        self.ranks = ranks
        self.reports = Reports()
        self.trial_id = 7
        self.hparams: dict[str, Any] = {}

    def trial(self, kind: type[SmallTrial] = SmallTrial) -> Any:
        """A trial as in a new process."""
        context = core.make_dummy_context(self.ranks, str(self.storage))
        context.train = self.reports = Reports()
        context.preempt = Preempts(context.distributed)
        trial = types.SimpleNamespace(trial_id=self.trial_id, experiment_id=2)
        context.info = types.SimpleNamespace(  # type: ignore[assignment]
            task_type="COMMAND", trial=trial, latest_checkpoint=None
        )
        rng.seed_all(SEED)
        return kind(
            det_ds.DeepSpeedTrialContext(
                core_context=context,
                trial_seed=SEED,
                hparams=self.hparams,
                slots_per_trial=context.distributed.size,
                num_gpus=0,
                exp_conf={},
                steps_completed=0,
            )
        )

    def fit(self, trial: Any, **options: Any) -> Any:
        arguments = {"max_length": pytorch.Batch(12), "validation_period": pytorch.Batch(6)}
        det_ds.Trainer(trial, trial.context).fit(**{**arguments, **options})
        return trial

    def checkpoints(self) -> set[str]:
        return {path.parent.name for path in self.storage.glob("*/metadata.json")}


def weights(trial: Any) -> list[bytes]:
    """The parameters that this rank has, bit by bit; with ZeRO 3, all of them."""
    parameters = list(trial.engine.module.parameters())
    with _gathered(trial, parameters):
        return [one.detach().cpu().numpy().tobytes() for one in parameters]


@contextlib.contextmanager
def _gathered(trial: Any, parameters: list[Any]) -> Iterator[None]:
    if trial.engine.zero_optimization_stage() < 3:
        yield
        return
    with deepspeed.zero.GatheredParameters(parameters):
        yield
