"""Lengths and periods; does not need PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from determined.pytorch import Batch, Epoch, Record, TrainUnit
from determined.pytorch._units import UnitConverter, unit_of

SCALE = UnitConverter(epoch_batches=5, batch_records=8)


def due(period: TrainUnit | None, upto: int = 20) -> list[int]:
    return [n for n in range(upto + 1) if SCALE.is_due(period, n)]


def test_periods_end_at_their_multiples() -> None:
    assert due(Batch(6)) == [6, 12, 18]
    assert due(Epoch(2)) == [10, 20]
    assert due(Record(24)) == [3, 6, 9, 12, 15, 18]
    assert due(Record(3), 3) == [1, 2, 3]
    assert due(None) == []


def test_periods_may_name_each_place() -> None:
    assert due(Batch([3, 4, 17])) == [3, 4, 17]
    assert due(Epoch({1, 4})) == [5, 20]
    assert due(Record([1, 8, 9, 160])) == [1, 2, 20]
    assert due(Batch(range(2, 9, 3))) == [2, 5, 8]


def test_lengths_are_counted_in_batches() -> None:
    assert SCALE.batches_of(Batch(7)) == 7
    assert SCALE.batches_of(Epoch(3)) == 15
    assert SCALE.batches_of(Record(100)) == 12
    assert SCALE.batches_of(Record(1)) == 1
    with pytest.raises(ValueError, match="one number"):
        SCALE.batches_of(Batch([1, 2]))
    with pytest.raises(ValueError, match="global_batch_size"):
        UnitConverter(5).batches_of(Record(100))


@pytest.mark.parametrize("value", [0, -1, 1.5, "10", True, None])
def test_a_unit_refuses_what_is_no_count(value: Any) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Batch(value)


def test_configurations_name_their_units() -> None:
    assert repr(unit_of({"epochs": 2})) == "Epoch(2)"
    assert repr(unit_of({"records": 64})) == "Record(64)"
    assert repr(unit_of(100)) == "Batch(100)"
    assert repr(unit_of(3, "epochs")) == "Epoch(3)"
    assert unit_of({"batches": 0}) is None
    assert unit_of(None) is None
    for wrong in ({"epochs": 1, "batches": 1}, {"hours": 2}):
        with pytest.raises(ValueError, match="batches, epochs"):
            unit_of(wrong)
