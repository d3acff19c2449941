import json
from datetime import UTC, datetime
from typing import Any

import pytest

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.listing.filters import (
    Condition,
    Filter,
    Group,
    Sort,
    parse_filter,
    parse_sort,
)


def field(column: str, operator: Any, value: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "kind": "field",
        "columnName": column,
        "operator": operator,
        "value": value,
        **more,
    }


def text(*children: Any, conjunction: str = "and", **more: Any) -> str:
    group = {"kind": "group", "conjunction": conjunction, "children": list(children)}
    return json.dumps({"filterGroup": group, **more})


@pytest.mark.parametrize(
    ("location", "name", "column"),
    [
        ("RUN_HYPERPARAMETERS", "lr", "hp.lr"),
        ("RUN_HYPERPARAMETERS", "hp.lr", "hp.lr"),
        ("HYPERPARAMETERS", "id", "hp.id"),
        ("RUN_METADATA", "a.b", "metadata.a.b"),
        ("RUN", "id", "id"),
    ],
)
def test_the_location_of_a_column_stands_for_the_prefix_of_its_name(
    location: str, name: str, column: str
) -> None:
    condition = field(name, "notEmpty", location=f"LOCATION_TYPE_{location}")
    [read] = parse_filter(text(condition), "run").root.children
    assert isinstance(read, Condition)
    assert read.column == column


def test_a_tree_of_groups_and_conditions_is_read() -> None:
    nested = {
        "kind": "group",
        "conjunction": "or",
        "children": [
            field("hp.lr", ">", 0, type="COLUMN_TYPE_NUMBER", location="ignored"),
            field("startTime", "<=", "2026-01-01T00:00:00Z"),
        ],
    }
    assert parse_filter(text(field("id", ">=", "7"), nested, showArchived=True), "run") == Filter(
        Group(
            "and",
            (
                Condition("id", ">=", "NUMBER", 7.0),
                Group(
                    "or",
                    (
                        Condition("hp.lr", ">", "NUMBER", 0.0),
                        Condition("startTime", "<=", "DATE", datetime(2026, 1, 1, tzinfo=UTC)),
                    ),
                ),
            ),
        ),
        show_archived=True,
    )


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_a_filter_everything_is_shown(nothing: str | None) -> None:
    assert parse_filter(nothing, "run") == Filter(Group("and"), show_archived=True)


def test_a_filter_hides_what_is_archived_unless_it_says_otherwise() -> None:
    assert not parse_filter(text(), "run").show_archived


@pytest.mark.parametrize("value", [None, ""])
def test_a_condition_without_a_value_yet_filters_nothing(value: Any) -> None:
    assert parse_filter(text(field("id", "=", value)), "run").root == Group("and")


def test_emptiness_needs_no_value() -> None:
    found = parse_filter(text(field("tags", "isEmpty")), "run").root
    assert found == Group("and", (Condition("tags", "isEmpty", "TEXT"),))


@pytest.mark.parametrize(
    ("filter_text", "told"),
    [
        ("{", "the filter is not JSON"),
        ("[]", "must be an object"),
        (text(showArchived="yes"), "showArchived is 'yes'"),
        (text(conjunction="xor"), "invalid conjunction xor"),
        (text({"kind": "?"}), "kind must be group or field"),
        (text(field("id", "in", 1)), "invalid operator in"),
        (text(field("id", "CONTAINS", 1)), "invalid operator CONTAINS"),
        (text(field("zip", "=", 1)), "invalid run column zip"),
        (text(field("hp.", "=", 1)), "invalid run column hp."),
        (text(field("a.b.median", "=", 1)), "invalid run column a.b.median"),
        (text(field("numTrials", "=", 1)), "invalid run column numTrials"),
        (text(field("id", "contains", "1")), "operator contains is for text, and id is a number"),
        (text(field("id", "=", "many")), "the value 'many' for id must be a number"),
        (text(field("id", "=", True)), "the value True for id must be a number"),
        (text(field("id", "=", "NaN")), "must be a number"),
        (text(field("endTime", "<", "noon")), "the value 'noon' for endTime must be a time"),
        (text(field("tags", "=", ["a"])), "for tags must be text"),
    ],
)
def test_the_fault_of_a_filter_is_named(filter_text: str, told: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_filter(filter_text, "run")
    assert told in caught.value.text


def test_depth_and_size_of_a_filter_are_bounded() -> None:
    deep: Any = field("id", "=", 1)
    for _ in range(30):
        deep = {"kind": "group", "conjunction": "and", "children": [deep]}
    with pytest.raises(InvalidArgument, match="deeper than 20"):
        parse_filter(text(deep), "run")
    with pytest.raises(InvalidArgument, match="more than 200 conditions"):
        parse_filter(text(*[field("id", "=", 1)] * 201), "run")
    with pytest.raises(InvalidArgument, match="not JSON"):
        parse_filter('{"filterGroup":' + "[" * 100_000, "run")


def test_groups_and_characters_of_a_filter_are_bounded_too() -> None:
    group = {"kind": "group", "conjunction": "or", "children": []}
    assert len(parse_filter(text(*[group] * 199), "run").root.children) == 199
    with pytest.raises(InvalidArgument, match="more than 200 groups"):
        parse_filter(text(*[group] * 200), "run")
    with pytest.raises(InvalidArgument, match="at most 1048576 are read"):
        parse_filter(" " * 1_100_000, "run")


def test_columns_of_a_sort_are_bounded() -> None:
    columns = [f"validation.m{n}.last=asc" for n in range(21)]
    assert len(parse_sort(",".join(columns[:20]), "run")) == 20
    with pytest.raises(InvalidArgument, match="the sort has more than 20 columns"):
        parse_sort(",".join(columns), "run")


def test_the_columns_of_experiments_are_their_own() -> None:
    parse_filter(text(field("numTrials", "=", 1)), "experiment")
    with pytest.raises(InvalidArgument, match="invalid experiment column experimentId"):
        parse_filter(text(field("experimentId", "=", 1)), "experiment")


def test_a_sort_is_a_list_of_columns_and_directions() -> None:
    assert parse_sort("id=desc,validation.a=b.last=asc", "run") == [
        Sort("id", is_descending=True),
        Sort("validation.a=b.last"),
    ]
    assert parse_sort("", "run") == parse_sort(None, "run") == []


@pytest.mark.parametrize(
    ("sort", "told"),
    [
        ("zip", "invalid sort parameter: zip"),
        ("id=up", "invalid sort parameter: id=up"),
        ("id=asc,", "invalid sort parameter: "),
        ("zip=asc", "invalid sort col: zip"),
    ],
)
def test_the_fault_of_a_sort_is_named(sort: str, told: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_sort(sort, "run")
    assert caught.value.text == told
