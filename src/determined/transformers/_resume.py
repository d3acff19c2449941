"""The checkpoint that a trainer starts from, and the length that a search gives it."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Dict

from determined._frameworks.trial import length_in, metadata_of_own
from determined.transformers._transformers import transformers

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.transformers")

STATE_FILE = "trainer_state.json"
_OF_TRAINING = (STATE_FILE, "optimizer", "scheduler", "scaler", "rng_state")
"""How the names of files begin that have the place of a training, and not its weights."""


class CallbackStates(Dict[str, Any]):
    """States of callbacks by name, in the trainer's state; one that was not stored is empty.

    The trainer stores those of its callbacks, and expects to find the same ones when it resumes.
    """

    def __missing__(self, name: str) -> Dict[str, Any]:
        return {}


def fetch(core_context: core.Context, args: Any, uuid: str) -> str:
    """Fetch a checkpoint into the trainer's output directory; return its path there.

    Of another trial's checkpoint only the model is taken, and training starts at the first step.
    """
    metadata = metadata_of_own(core_context, uuid)
    is_own = metadata is not None
    steps = int((metadata or {}).get("steps_completed") or 0)
    path = os.path.join(args.output_dir, f"checkpoint-{steps}")
    core_context.checkpoint.download(uuid, path, selector=None if is_own else _is_of_model)
    if not is_own:
        logger.info("starting with the model of checkpoint %s of another trial", uuid)
        if core_context.distributed.local_rank == 0:
            same = ("train_batch_size", "logging_steps", "eval_steps", "save_steps")
            state = transformers.TrainerState(**{name: getattr(args, name) for name in same})
            state.save_to_json(os.path.join(path, STATE_FILE))
        core_context.distributed.gather_local(None)
    return path


def apply_length(args: Any, searcher: Any) -> None:
    """Let the trainer train for `searcher.max_length`, if the configuration has it.

    A batch is a step of the trainer.

    Raises:
        ValueError: the length is counted in records.
    """
    length = length_in(searcher, "the trainer of transformers")
    if length is None:
        return
    before = (args.max_steps, args.num_train_epochs)
    if length.is_of_epochs:
        args.max_steps, args.num_train_epochs = -1, float(length.value)
    else:
        args.max_steps = length.value
    if before != (args.max_steps, args.num_train_epochs):
        text = (
            "searcher.max_length sets max_steps to %s and num_train_epochs to %s (were %s and %s)"
        )
        logger.info(text, args.max_steps, args.num_train_epochs, *before)


def _is_of_model(path: str) -> bool:
    return not os.path.basename(path).startswith(_OF_TRAINING)
