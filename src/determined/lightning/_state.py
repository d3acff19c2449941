"""The files of a checkpoint of a Lightning trainer."""

from __future__ import annotations

import os
import pathlib
import pickle
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from determined._frameworks.generators import get_rng_state, set_rng_state
from determined._frameworks.trial import metadata_of_own

if TYPE_CHECKING:
    from determined import core

CHECKPOINT = "lightning.ckpt"
"""What the trainer writes: a file, or a directory with some strategies."""


class Fetched(NamedTuple):
    """A checkpoint in a directory that the ranks of this machine share."""

    directory: pathlib.Path
    is_own: bool
    """Whether this trial has stored it; another trial's gives the model alone."""

    @property
    def path(self) -> str:
        """The path of the trainer's checkpoint."""
        return os.fspath(self.directory / CHECKPOINT)


def fetch(core_context: core.Context, uuid: str) -> Fetched:
    """Fetch a checkpoint into a new temporary directory. All ranks call.

    Raises:
        ValueError: another program than `DetCallback` has stored it.
    """
    distributed = core_context.distributed
    is_own = metadata_of_own(core_context, uuid) is not None
    scratch = tempfile.mkdtemp(prefix="lightning-") if distributed.local_rank == 0 else None
    directory = pathlib.Path(distributed.broadcast_local(scratch))
    core_context.checkpoint.download(uuid, directory)
    fetched = Fetched(directory, is_own)
    if not os.path.exists(fetched.path):
        files = ", ".join(sorted(os.listdir(directory))) or "no file"
        raise ValueError(
            f"checkpoint {uuid} was not stored by determined.lightning.DetCallback: it has "
            f"{files}, and no {CHECKPOINT}"
        )
    return fetched


def save(directory: pathlib.Path, trainer: Any, rank: int) -> None:
    """Write the trainer's checkpoint and the random generators of this rank. All ranks call."""
    trainer.save_checkpoint(directory / CHECKPOINT)
    with open(_generators_file(directory, rank), "wb") as file:
        pickle.dump(get_rng_state(), file)


def restore_generators(fetched: Fetched, rank: int) -> None:
    """Continue the generators of this rank; one that was not there keeps its own."""
    path = _generators_file(fetched.directory, rank)
    if path.exists():
        with open(path, "rb") as file:
            set_rng_state(pickle.load(file))


def load_model(fetched: Fetched, trainer: Any) -> None:
    """Load the weights alone."""
    checkpoint = trainer.strategy.load_checkpoint(fetched.path)
    trainer.strategy.load_model_state_dict(checkpoint)


def remove(fetched: Fetched, local_rank: int) -> None:
    """Remove the directory, when no rank of this machine needs it."""
    if local_rank == 0:
        shutil.rmtree(fetched.directory, ignore_errors=True)


def _generators_file(directory: pathlib.Path, rank: int) -> pathlib.Path:
    return directory / f"generators.{rank}.pkl"
