"""Trains a small language model, made from its configuration, with Hugging Face transformers.

It learns to count up to 31 and on from 0, and is validated with first numbers that it has not
seen. Run by itself (`python train.py`) it trains once and logs its reports. Started by
`determined.launch.torch_distributed`, one process a slot, the ranks average their gradients.
"""

from __future__ import annotations

import contextlib
import logging
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one slot is one core

import torch
import torch.distributed as dist
import transformers

import determined as det
from determined import core
from determined.transformers import DetCallback

STEPS = int(os.environ.get("STEPS", "160"))
NUMBERS = 32
LENGTH = 12
DEFAULTS = {"layers": 2, "width": 32, "training_arguments": {"learning_rate": 0.005}}


class Counting(torch.utils.data.Dataset):
    """Sequences of `LENGTH` numbers, whose first one modulo 4 is one of `parts`."""

    def __init__(self, parts: tuple) -> None:
        self._first = [number for number in range(NUMBERS) if number % 4 in parts]

    def __len__(self) -> int:
        return len(self._first)

    def __getitem__(self, index: int) -> dict:
        tokens = (self._first[index] + torch.arange(LENGTH)) % NUMBERS
        return {"input_ids": tokens, "labels": tokens.clone()}


def build(hparams: dict) -> transformers.PreTrainedModel:
    """The model, untrained."""
    shape = {"n_embd": int(hparams["width"]), "n_layer": int(hparams["layers"]), "n_head": 2}
    config = transformers.GPT2Config(
        vocab_size=NUMBERS, n_positions=LENGTH, bos_token_id=0, eos_token_id=0, **shape
    )
    return transformers.GPT2LMHeadModel(config)


def main() -> None:
    """Train as the experiment asks, or with the defaults where there is none."""
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = {**DEFAULTS, **(info.trial.hparams if info else {})}
    seed = info.trial.trial_seed if info else 0
    with contextlib.ExitStack() as stack:
        distributed = None
        if "RANK" in os.environ:
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
            stack.callback(dist.destroy_process_group)
            distributed = core.DistributedContext.from_torch_distributed()
        context = stack.enter_context(core.init(distributed=distributed))
        args = transformers.TrainingArguments(
            output_dir="output",
            max_steps=STEPS,
            per_device_train_batch_size=12,
            logging_steps=20,
            eval_strategy="steps",
            eval_steps=20,
            save_steps=40,
            report_to=[],
            disable_tqdm=True,
            use_cpu=not torch.cuda.is_available(),
            seed=seed,
            **hparams["training_arguments"],
        )
        callback = DetCallback(context, args)
        transformers.set_seed(seed)
        trainer = transformers.Trainer(
            model=build(hparams),
            args=args,
            train_dataset=Counting((0, 1, 2)),
            eval_dataset=Counting((3,)),
            callbacks=[callback],
        )
        trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)


if __name__ == "__main__":
    main()
