"""Lengths and periods of training, in batches, epochs or records."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Mapping, Optional, Type, Union


class TrainUnit:
    """A length or a period; use one of its subclasses.

    Args:
        value: a number of at least 1, or for a period also a container of numbers such as
            `[1, 10, 100]`.

    Raises:
        ValueError: it is neither.
    """

    def __init__(self, value: Union[int, Container[int]]) -> None:
        if isinstance(value, int):
            is_usable = value >= 1 and not isinstance(value, bool)
        else:
            is_usable = isinstance(value, Container) and not isinstance(value, str)
        self.value = value
        if not is_usable:
            raise ValueError(
                f"{type(self).__name__} takes a number of at least 1 or a container of numbers, "
                f"got {value!r}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def should_stop(self, step_num: int) -> bool:
        """Whether a period of this value ends after `step_num` units."""
        if isinstance(self.value, int):
            return step_num % self.value == 0
        return step_num in self.value


class Batch(TrainUnit):
    """Batches of one rank; all ranks train a batch at the same time."""


class Epoch(TrainUnit):
    """Passes over the training data."""


class Record(TrainUnit):
    """Records over all ranks; converted to the batches that contain them."""


class UnitConverter:
    """Converts units to batches.

    Args:
        epoch_batches: batches of an epoch, at least 1.
        batch_records: records of a batch over all ranks; None if not known.
    """

    def __init__(self, epoch_batches: int, batch_records: Optional[int] = None) -> None:
        self.epoch_batches = epoch_batches
        self.batch_records = batch_records

    def is_due(self, period: Optional[TrainUnit], batches: int) -> bool:
        """Whether a period ends after this many batches; None never ends."""
        if period is None or batches == 0:
            return False
        if isinstance(period, Epoch):
            epochs, rest = divmod(batches, self.epoch_batches)
            return rest == 0 and period.should_stop(epochs)
        if isinstance(period, Record):
            return self._is_record_due(period, batches)
        return period.should_stop(batches)

    def batches_of(self, length: TrainUnit) -> int:
        """A length in batches.

        Raises:
            ValueError: it is not a single number, or the records of a batch are not known.
        """
        if not isinstance(length.value, int):
            raise ValueError(f"a length must be one number, got {length!r}")
        if isinstance(length, Epoch):
            return length.value * self.epoch_batches
        if isinstance(length, Record):
            return max(1, length.value // self._records(length))
        return length.value

    def _is_record_due(self, period: Record, batches: int) -> bool:
        size = self._records(period)
        if isinstance(period.value, int):
            return batches % max(1, period.value // size) == 0
        # Whether one of the records of this batch is in the container.
        return any(n in period.value for n in range((batches - 1) * size + 1, batches * size + 1))

    def _records(self, unit: Record) -> int:
        if self.batch_records is None:
            raise ValueError(
                f"{unit!r} needs the number of records of a batch: set the hyperparameter "
                "global_batch_size, or use Batch or Epoch"
            )
        return self.batch_records


_NAMES: Mapping[str, Type[TrainUnit]] = {"batches": Batch, "epochs": Epoch, "records": Record}


def unit_of(length: Any, unit: Optional[str] = None) -> Optional[TrainUnit]:
    """A length from the configuration: `{"epochs": 2}`, or a number with a separate unit.

    Returns None for an empty length and for 0, which mean the default.

    Raises:
        ValueError: it has no unit, or several.
    """
    if not length:
        return None
    if isinstance(length, Mapping):
        if len(length) != 1:
            raise ValueError(
                f"a length must have one of batches, epochs, records; got {dict(length)}"
            )
        ((unit, length),) = length.items()
    kind = _NAMES.get(str(unit or "batches").lower())
    if kind is None:
        raise ValueError(f"the unit of a length must be batches, epochs or records; got {unit!r}")
    return kind(int(length)) if int(length) > 0 else None
