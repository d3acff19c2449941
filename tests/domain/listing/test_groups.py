"""Which columns of runs make groups, and which have figures."""

from __future__ import annotations

import pytest

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.listing.groups import MAX_COLUMNS, Grouping, parse_grouping


@pytest.mark.parametrize(
    "by", ["user", "tags", "state", "experimentId", "hp.lr", "hp.net.width", "metadata.team"]
)
def test_texts_hyperparameters_and_metadata_make_groups(by: str) -> None:
    assert parse_grouping(by, ()) == Grouping(by)


@pytest.mark.parametrize("by", ["id", "duration", "startTime", "validation.loss.last"])
def test_columns_that_differ_from_run_to_run_make_none(by: str) -> None:
    with pytest.raises(InvalidArgument, match=f"cannot be grouped by {by}"):
        parse_grouping(by, ())


@pytest.mark.parametrize("by", ["", "hp.", "unknown"])
def test_a_column_that_does_not_exist_is_refused(by: str) -> None:
    with pytest.raises(InvalidArgument, match="it must be a column of trials"):
        parse_grouping(by, ())


def test_columns_are_numbers_each_once_and_not_too_many() -> None:
    columns = ("validation.loss.last", "duration", "hp.lr", "duration")
    assert parse_grouping("user", columns).columns == columns[:3]
    with pytest.raises(InvalidArgument, match="the column state is no number"):
        parse_grouping("user", ("state",))
    with pytest.raises(InvalidArgument, match="invalid run column nothing"):
        parse_grouping("user", ("nothing",))
    many = [f"hp.h{n}" for n in range(MAX_COLUMNS + 1)]
    with pytest.raises(InvalidArgument, match=f"{MAX_COLUMNS + 1} columns are to be summed up"):
        parse_grouping("user", many)
