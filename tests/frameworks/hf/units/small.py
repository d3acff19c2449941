"""A small language model from its configuration, and runs of a trial that trains it."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import torch
import transformers

from determined import core
from determined.transformers import DetCallback

RECORDS = 24
BATCH = 4
EPOCH = RECORDS // BATCH
"""Steps of an epoch."""


class Sequences(torch.utils.data.Dataset):
    """Numbers that count up, from 0 to 15."""

    def __init__(self, records: int = RECORDS) -> None:
        self._records = records

    def __len__(self) -> int:
        return self._records

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = (torch.arange(8) + index) % 16
        return {"input_ids": tokens, "labels": tokens.clone()}


class Reports(core.DummyTrainContext):
    """Keeps what is reported; refuses a second report of one step, as a master does."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, dict[int, dict[str, Any]]] = {"training": {}, "validation": {}}
        self.progress: list[float] = []
        self.acts: dict[int, Any] = {}

    def _report(self, group: str, steps_completed: int, metrics: Any, batch: Any = None) -> None:
        assert steps_completed not in self.made[group]
        self.made[group][steps_completed] = dict(metrics)

    def _try_report_progress(self, progress: float) -> None:
        self.progress.append(progress)


class Preempts(core.DummyPreemptContext):
    now = False

    def should_preempt(self, auto_ack: bool = True) -> bool:
        return self.now


class AtStep(transformers.TrainerCallback):
    """Calls a function at the end of a batch; `substep` is within a step of several batches."""

    def __init__(self, step: int, act: Any, event: str = "on_step_begin") -> None:
        def call(args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == step:
                act()

        setattr(self, event, call)


class Trial:
    """Runs of one trial, each from the last checkpoint of the run before."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.trial_id = 7
        self.runs = 0
        self.searcher: dict[str, Any] = {"name": "single", "metric": "eval_loss"}
        self.is_managed = True
        self.reports = Reports()
        self.preempt: Any = None
        self.callbacks: list[Any] = []
        self.options: dict[str, Any] = {}
        self.eval_dataset: Any = Sequences(8)
        self.trainer: Any = None
        self.args: Any = None

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
        saved = self.checkpoints()
        if self.is_managed:
            context.info = types.SimpleNamespace(  # type: ignore[assignment]
                task_type="TRIAL",
                latest_checkpoint=saved[-1]["path"].name if saved else None,
                trial=types.SimpleNamespace(
                    trial_id=self.trial_id, _config={"searcher": self.searcher}
                ),
            )
        return context

    def run(self, **arguments: Any) -> Any:
        """Train; each run has a new output directory, as in a new container."""
        self.runs += 1
        settings = {
            "output_dir": str(self.place / f"run-{self.runs}"),
            "per_device_train_batch_size": BATCH,
            "num_train_epochs": 3,
            "logging_steps": 3,
            "eval_strategy": "steps",
            "eval_steps": 6,
            "save_steps": 5,
            "report_to": [],
            "use_cpu": True,
            "disable_tqdm": True,
            "seed": 3,
            "learning_rate": 5e-3,
        }
        args = self.args = transformers.TrainingArguments(**{**settings, **arguments})
        context = self.context()
        callback = DetCallback(context, args, **self.options)
        transformers.set_seed(3)
        shape = {"vocab_size": 16, "n_positions": 8, "n_embd": 16, "n_layer": 1, "n_head": 2}
        config = transformers.GPT2Config(**shape, bos_token_id=0, eos_token_id=0)
        self.trainer = transformers.Trainer(
            model=transformers.GPT2LMHeadModel(config),
            args=args,
            train_dataset=Sequences(),
            eval_dataset=self.eval_dataset,
            callbacks=[callback, *self.callbacks],
        )
        self.trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
        return self.trainer


def weights(trainer: Any) -> list[bytes]:
    """Every weight, bit by bit."""
    state = trainer.model.state_dict()
    return [value.cpu().numpy().tobytes() for value in state.values()]
