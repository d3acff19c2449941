"""A small language model from its configuration, and runs of a trial that trains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tests.frameworks.small_trial import SmallTrial

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


class AtStep(transformers.TrainerCallback):
    """Calls a function at the end of a batch; `substep` is within a step of several batches."""

    def __init__(self, step: int, act: Any, event: str = "on_step_begin") -> None:
        def call(args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == step:
                act()

        setattr(self, event, call)


class Trial(SmallTrial):
    """A trial of that network."""

    metric = "eval_loss"

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.runs = 0
        self.eval_dataset: Any = Sequences(8)
        self.trainer: Any = None
        self.args: Any = None

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
