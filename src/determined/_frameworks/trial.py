"""The trial of a callback: its length, checkpoint, metadata and progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional

from determined.__version__ import __version__
from determined._info import trial_id_of
from determined.core._checkpoint_shards import agree
from determined.core._searcher import Unit, length_of, units_of

if TYPE_CHECKING:
    from determined import core


class Length(NamedTuple):
    """The length of `searcher.max_length`, in epochs or batches."""

    value: int
    is_of_epochs: bool

    def is_reached(self, epochs: int, batches: int) -> bool:
        """Whether a training is that long."""
        return (epochs if self.is_of_epochs else batches) >= self.value


def check_context(core_context: Any) -> None:
    """Refuse another value than a context of the Core API.

    Raises:
        TypeError: it is none.
    """
    if not hasattr(core_context, "train") or not hasattr(core_context, "checkpoint"):
        raise TypeError(
            f"core_context must be what core.init() returns, got {type(core_context).__name__}: "
            "use `with core.init() as core_context`"
        )


def searcher_of(core_context: core.Context) -> Dict[str, Any]:
    """The searcher's configuration of this trial; empty outside of one."""
    info = core_context.info
    if info is None or info.task_type != "TRIAL":
        return {}
    return info.trial._config.get("searcher") or {}


def length_in(searcher: Dict[str, Any], framework: str) -> Optional[Length]:
    """The length in a searcher's configuration; None if it has none.

    Args:
        searcher: the section of the configuration.
        framework: what counts the length, for the error.

    Raises:
        ValueError: it is counted in records, which frameworks do not count.
    """
    value = length_of(searcher)
    if value is None:
        return None
    unit = units_of(searcher)
    if unit is Unit.RECORDS:
        raise ValueError(
            f"searcher.max_length of {value} records cannot be counted by {framework}: use "
            "batches or epochs"
        )
    return Length(value, unit is Unit.EPOCHS)


def metadata_of_own(core_context: core.Context, uuid: str) -> Optional[Dict[str, Any]]:
    """The metadata of a checkpoint of this trial; None if it is another trial's. All ranks call.

    A training continues with a checkpoint of its trial. Of another one it takes the model.
    """
    metadata = agree(core_context.distributed, lambda: core_context.checkpoint.get_metadata(uuid))[
        0
    ]
    own = trial_id_of(core_context.info)
    return metadata if metadata.get("trial_id", own) == own else None


def metadata_of(
    core_context: core.Context, framework: str, steps: int, user_data: Optional[Dict[str, Any]]
) -> Dict[str, Any]:
    """The metadata of a checkpoint.

    Args:
        core_context: of the trial.
        framework: its name and version, such as `lightning-2.6.6`.
        steps: steps that have been trained.
        user_data: values of the user; None for no entry.
    """
    metadata: Dict[str, Any] = {
        "steps_completed": steps,
        "trial_id": trial_id_of(core_context.info),
        "determined_version": __version__,
        "framework": framework,
    }
    if user_data is not None:
        metadata["user_data"] = user_data
    return metadata


class Progress:
    """Reports the progress of a training on rank 0, once for each percent."""

    def __init__(self, core_context: core.Context, percent: int = -1) -> None:
        self._core = core_context
        self.percent = percent
        """The percentage that was reported last."""

    def report(self, fraction: float) -> None:
        """Report a fraction of the training, from 0; more than 1 counts as 1."""
        percent = min(100, int(100 * fraction))
        if percent != self.percent and self._core.distributed.rank == 0:
            self.percent = percent
            self._core.train._try_report_progress(percent / 100)
