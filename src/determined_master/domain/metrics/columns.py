"""The values of a block by columns: charts of series that are not long are made of them.

To read a report costs several times what its values in a column cost.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from determined_master.domain.metrics.charts import Report
from determined_master.domain.metrics.steps import step_code


class GroupColumns(NamedTuple):
    """The reports of a group in a block, in the order of arrival; shape (n,) each, packed."""

    first_steps: int
    last_steps: int
    first_at: float
    last_at: float
    steps: bytes
    at: bytes
    """Unix seconds."""
    values: dict[str, bytes]
    """By metric; only of metrics that each of the reports has, all of them finite."""


def columns_of(reports: Sequence[Report]) -> GroupColumns:
    """The columns of a group's reports; there must be at least one."""
    steps = [report[0] for report in reports]
    at = [report[1] for report in reports]
    metrics = [report[2] for report in reports]
    values = {}
    for name in metrics[0]:
        column: list[Any] = [of_report.get(name) for of_report in metrics]
        if set(map(type, column)) <= {int, float} and are_finite(column):
            values[name] = pack_doubles(column)
    first, last = min(steps), max(steps)
    return GroupColumns(
        first,
        last,
        min(at),
        max(at),
        struct.pack(f"<{len(steps)}{step_code(first, last)}", *steps),
        pack_doubles(at),
        values,
    )


def are_finite(numbers: Sequence[float]) -> bool:
    """Whether all numbers are finite as doubles."""
    try:
        return all(map(math.isfinite, numbers))
    except OverflowError:
        return False


def pack_doubles(numbers: Sequence[float]) -> bytes:
    """Numbers as bytes, 8 each."""
    return struct.pack(f"<{len(numbers)}d", *numbers)


def unpack_doubles(packed: bytes) -> tuple[float, ...]:
    """The inverse of `pack_doubles`."""
    return struct.unpack(f"<{len(packed) // 8}d", packed)


def unpack_steps(packed: bytes, first_steps: int, last_steps: int) -> tuple[int, ...]:
    """The steps of packed columns with this range."""
    code = step_code(first_steps, last_steps)
    return struct.unpack(f"<{len(packed) // struct.calcsize('<' + code)}{code}", packed)
