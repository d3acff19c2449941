"""The checkpoints of a batch process: how far it is, and the values of its reducers.

Batches are dealt out in turn, so the number of batches of each rank says which ones are done. A
checkpoint thus has one number for all ranks, which holds for the same number of ranks, batch size
and data set alone: a run that differs in one of them is refused.
"""

from __future__ import annotations

import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from determined._info import trial_id_of
from determined.core._checkpoint_shards import agree
from determined.ipc import _codec
from determined.pytorch._data import DataLoader

if TYPE_CHECKING:
    from determined import core

KEY = "batch_process"
REDUCERS_FILE = "reducers.json"

Settings = Dict[str, Any]


def settings_of(core_context: core.Context, loader: DataLoader) -> Settings:
    """The values that a run must share with the one that it continues."""
    return {
        "trial_id": trial_id_of(core_context.info),
        "ranks": core_context.distributed.size,
        "batch_size": loader.batch_size,
        "records": len(loader.dataset),
    }


def save(core_context: core.Context, done: int, settings: Settings, values: List[Any]) -> None:
    """Store a checkpoint; every rank calls.

    Args:
        done: the batches of each rank that are processed.
        values: on rank 0, the values of the reducers.
    """

    def store() -> None:
        if core_context.distributed.rank > 0:
            return
        with tempfile.TemporaryDirectory(prefix="determined-progress-") as folder:
            pathlib.Path(folder, REDUCERS_FILE).write_bytes(_codec.encode(values))
            core_context.checkpoint.upload(folder, {"steps_completed": done, KEY: settings})

    agree(core_context.distributed, store)


def load(core_context: core.Context, settings: Settings) -> Tuple[int, List[Any]]:
    """The batches of each rank that are done, and on rank 0 the values of the reducers.

    The checkpoint of another trial, such as one with the model to use, starts a run from the
    first batch.

    Raises:
        ValueError: the run before had other settings.
    """
    info = core_context.info
    latest = None if info is None else info.latest_checkpoint
    if latest is None:
        return 0, []
    is_chief = core_context.distributed.rank == 0

    def read() -> Any:
        return core_context.checkpoint.get_metadata(latest) if is_chief else None

    metadata = agree(core_context.distributed, read)[0]
    before = metadata.get(KEY) or {}
    if before.get("trial_id") != settings["trial_id"]:
        return 0, []
    for name, value in settings.items():
        if before.get(name) != value:
            raise ValueError(
                f"the run before had {name} {before.get(name)}, this one has {value}: continue "
                "with the same, or start a new experiment"
            )
    values: List[Any] = []
    with core_context.checkpoint.restore_path(latest) as path:
        if is_chief:
            values = _codec.decode((path / REDUCERS_FILE).read_bytes())
    return int(metadata["steps_completed"]), values
