"""Rows of a list in groups of equal values: which columns make groups, and which have figures."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.listing.columns import columns_of, is_projects_own, split_metric

MAX_GROUPS = 1000
MAX_COLUMNS = 40
"""Each is read of every trial that matches."""
NUMBERS_THAT_NAME = frozenset({"experimentId", "forkedFrom", "projectId"})
"""Numbers that name a thing; other numbers of the table differ from trial to trial."""


class Grouping(msgspec.Struct, frozen=True):
    """The column whose values make the groups, and the numeric columns that are summed up."""

    by: str
    columns: Sequence[str] = ()


class Figures(msgspec.Struct, frozen=True):
    """A numeric column over the rows of a group that have a value of it."""

    column: str
    count: int
    mean: float
    deviation: float | None
    """Of a sample; None below two values."""
    least: float
    most: float


class GroupOfRows(msgspec.Struct, frozen=True):
    """Rows of one value, which is a text or a number; neither for rows without one."""

    text: str | None
    number: float | None
    count: int
    figures: Sequence[Figures] = ()


class GroupedRows(msgspec.Struct, frozen=True):
    """The largest groups, and how many groups and rows there are in all."""

    groups: Sequence[GroupOfRows]
    total: int
    rows: int


def parse_grouping(by: str, columns: Sequence[str]) -> Grouping:
    """Read the request for groups of trials.

    Raises:
        InvalidArgument: a column does not exist, makes no groups, or is no number; or there are
            too many.
    """
    _check_by(by)
    wanted = tuple(dict.fromkeys(columns))
    if len(wanted) > MAX_COLUMNS:
        raise InvalidArgument(
            f"{len(wanted)} columns are to be summed up, at most {MAX_COLUMNS} can be: "
            "ask for fewer"
        )
    for column in wanted:
        known = columns_of("run").get(column)
        if known is None and not is_projects_own(column):
            raise InvalidArgument(f"invalid run column {column}")
        if known is not None and known.type != "NUMBER":
            raise InvalidArgument(f"the column {column} is no number: leave it out of columns")
    return Grouping(by, wanted)


def _check_by(by: str) -> None:
    known = columns_of("run").get(by)
    if known is None and not is_projects_own(by):
        raise InvalidArgument(
            f"by is {by!r}: it must be a column of trials, such as user or hp.learning_rate"
        )
    is_metric = known is None and not by.startswith(("hp.", "metadata.")) and split_metric(by)
    is_measured = known is not None and known.type != "TEXT" and by not in NUMBERS_THAT_NAME
    if is_metric or is_measured:
        raise InvalidArgument(
            f"trials cannot be grouped by {by}, which differs from trial to trial: use a text, a "
            "hyperparameter or a key of metadata"
        )
