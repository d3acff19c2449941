"""Messages of clients that subscribe to entities."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.updates.subscription import read_ids, read_message, write_ids


@given(st.sets(st.integers(0, 300)))
def test_written_ids_are_read_again(ids: set[int]) -> None:
    assert read_ids(write_ids(ids)) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [("", set()), ("7", {7}), ("1-3,9", {1, 2, 3, 9}), ("3,1,2", {1, 2, 3}), ("4-4", {4})],
)
def test_ranges_are_read_and_written_in_their_shortest_form(text: str, ids: set[int]) -> None:
    assert read_ids(text) == ids
    assert write_ids({1, 2, 3, 9}) == "1-3,9"


@pytest.mark.parametrize(
    "text", ["x", "1-", "-1", "3-1", "1--3", "0-4000000000", "0-2000000", "²", "1 - 2"]
)
def test_texts_that_are_no_ids_or_too_many_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        read_ids(text)


@pytest.mark.parametrize(
    "message",
    [
        "nonsense",
        [],
        {"subscribe": {"projects": {"workspace_ids": []}}},
        {"subscribe": {"projects": {}}},
        {"subscribe": {"experiments": {"ids": [1]}}},
        {"subscribe": {"models": {"user_ids": 1}}},
        {"subscribe": {"models": {"user_ids": [-1]}}},
        {"subscribe": {"models": {"user_ids": [2**40]}}},
        {"subscribe": {"models": {"user_ids": [1], "since": [1]}}},
        {"known": {"projects": "0-99999999"}},
    ],
)
def test_a_malformed_message_is_refused(message: Any) -> None:
    with pytest.raises(InvalidArgument):
        read_message(message if isinstance(message, str) else json.dumps(message))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        read_message('{"subscribe": ' + "[" * 100_000)


def test_filters_that_a_kind_lacks_are_ignored() -> None:
    text = '{"sync_id": "s", "subscribe": {"projects": {"workspace_ids": [1], "user_ids": [2]}}}'
    assert read_message(text).wanted["project"].filters == {
        "workspace_ids": [1],
        "project_ids": [],
    }
