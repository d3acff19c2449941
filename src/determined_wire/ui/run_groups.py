"""Messages of runs in groups."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Double, DoubleValue, Int32, Message, StringValue


class GetRunGroupsRequest(Message, frozen=True):
    """Asks for the runs that match a filter, in groups of equal values of one column."""

    project_id: Int32 = 0
    """0 for all projects."""
    filter: str = ""
    by: str = ""
    columns: Sequence[str] = ()


class RunGroupFigures(Message, frozen=True):
    """A numeric column over the runs of a group that have a value of it."""

    column: str = ""
    n: Int32 = 0
    mean: Double = 0
    std: DoubleValue | None = None
    """Of a sample; absent below two values."""
    min: Double = 0
    max: Double = 0


class RunGroup(Message, frozen=True):
    """Runs of one value, which is a text or a number; both are absent for runs without one."""

    text: StringValue | None = None
    number: DoubleValue | None = None
    runs: Int32 = 0
    figures: Sequence[RunGroupFigures] = ()


class GetRunGroupsResponse(Message, frozen=True):
    """The largest groups first; `total` counts all groups, `runs` the runs of all."""

    groups: Sequence[RunGroup] = ()
    total: Int32 = 0
    runs: Int32 = 0
