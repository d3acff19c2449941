"""Trainers of transformers are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

from determined import core
from determined.transformers import DetCallback


class Sequences(torch.utils.data.Dataset):
    """Numbers that count up."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = (torch.arange(4) + index) % 8
        return {"input_ids": tokens, "labels": tokens.clone()}


def arguments_of(place: Path) -> Any:
    return transformers.TrainingArguments(
        output_dir=str(place / "run"),
        per_device_train_batch_size=2,
        num_train_epochs=1,
        logging_steps=2,
        eval_strategy="epoch",
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        hub_token="a-secret",
    )


def trainer_of(args: Any, *callbacks: Any) -> Any:
    shape = {"vocab_size": 8, "n_positions": 4, "n_embd": 8, "n_layer": 1, "n_head": 2}
    config = transformers.GPT2Config(**shape, bos_token_id=0, eos_token_id=0)
    return transformers.Trainer(
        model=transformers.GPT2LMHeadModel(config),
        args=args,
        train_dataset=Sequences(),
        eval_dataset=Sequences(),
        callbacks=list(callbacks),
    )


def test_a_training_records_metrics_and_arguments(trial: Any, tmp_path: Path) -> None:
    trainer = trainer_of(arguments_of(tmp_path))
    trainer.train()
    assert trial.steps("training", "loss") == [2, 4]
    assert trial.steps("validation", "eval_loss") == [4]
    params = trial.params["GPT2LMHeadModel"]
    assert params["per_device_train_batch_size"] == 2
    assert params["learning_rate"] == 5e-5
    assert "output_dir" not in params
    assert "a-secret" not in str(trial.metadata)
    kinds = [type(one).__module__ for one in trainer.callback_handler.callbacks]
    assert not any(kind.startswith("determined") for kind in kinds)


def test_a_training_with_our_callback_is_reported_by_that_alone(
    trial: Any, context: core.Context, tmp_path: Path
) -> None:
    args = arguments_of(tmp_path)
    trainer_of(args, DetCallback(context, args)).train()
    assert trial.steps("training", "loss") == [2, 4]
    assert trial.params == {}


def test_an_evaluation_alone_is_recorded(trial: Any, tmp_path: Path) -> None:
    trainer_of(arguments_of(tmp_path)).evaluate()
    assert trial.steps("validation", "eval_loss") == [0]
