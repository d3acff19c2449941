"""The length that a search gives a training with Keras."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple, Optional

from determined.core._searcher import Unit, units_of
from determined.core._searcher import length_of as length_in

if TYPE_CHECKING:
    from determined import core

logger = logging.getLogger("determined.keras")


class Length(NamedTuple):
    """The length of `searcher.max_length`, in epochs or batches."""

    value: int
    is_of_epochs: bool

    def is_reached(self, epochs: int, batches: int) -> bool:
        """Whether a training is that long."""
        return (epochs if self.is_of_epochs else batches) >= self.value

    def check(self, epochs: int) -> None:
        """Warn if `fit` ends earlier."""
        if self.is_of_epochs and epochs < self.value:
            logger.warning(
                "searcher.max_length is %d epochs, and fit ends after %d: pass epochs=%d to fit",
                self.value,
                epochs,
                self.value,
            )


def length_of(core_context: core.Context) -> Optional[Length]:
    """The length in the trial's configuration; None if it has none.

    Raises:
        ValueError: it is counted in records.
    """
    info = core_context.info
    if info is None or info.task_type != "TRIAL":
        return None
    searcher = info.trial._config.get("searcher") or {}
    value = length_in(searcher)
    if value is None:
        return None
    unit = units_of(searcher)
    if unit is Unit.RECORDS:
        raise ValueError(
            f"searcher.max_length of {value} records cannot be counted by fit of Keras: use "
            "batches or epochs"
        )
    return Length(value, unit is Unit.EPOCHS)
