"""Names of topics, messages and cursors of the live channel."""

from __future__ import annotations

import pytest

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.updates.live import (
    Ping,
    Subscribe,
    Topic,
    Unsubscribe,
    read_request,
    read_topic,
)
from determined_master.domain.updates.log_position import LinePosition, read_position


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("exp:7", Topic("exp:7", "exp", 7)),
        ("run:2147483647", Topic("run:2147483647", "run", 2**31 - 1)),
        ("project:3/runs", Topic("project:3/runs", "project", 3)),
        ("project:0/runs", Topic("project:0/runs", "project", 0)),
        ("project:all/runs", Topic("project:all/runs", "project", 0)),
        ("metrics:1", Topic("metrics:1", "metrics", 1)),
        ("logs:1.a-b", Topic("logs:1.a-b", "logs", key="1.a-b")),
        ("queue:gpu: big", Topic("queue:gpu: big", "queue", key="gpu: big")),
        ("agents", Topic("agents", "agents")),
    ],
)
def test_a_topic_is_read_from_its_name(name: str, topic: Topic) -> None:
    assert read_topic(name) == topic


@pytest.mark.parametrize("name", ["", "exp:", "exp:01", "exp:0", "agents:", "project:1", "x:1"])
def test_another_name_is_refused_with_the_forms_that_there_are(name: str) -> None:
    with pytest.raises(InvalidArgument, match="the topics are exp:ID"):
        read_topic(name)


def test_messages_are_read() -> None:
    text = '{"op":"subscribe","topic":"me","cursor":null,"more":1}'
    assert read_request(text) == Subscribe("me")
    assert read_request('{"op":"subscribe","topic":"me","cursor":"c"}') == Subscribe("me", "c")
    assert read_request('{"op":"unsubscribe","topic":"me"}') == Unsubscribe("me")
    assert read_request('{"op":"ping"}') == Ping()


def test_an_unknown_op_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidArgument, match=r"op is 'steal': it must be subscribe, unsubscribe"):
        read_request('{"op":"steal"}')


@pytest.mark.parametrize(
    "position",
    [
        LinePosition(0, 0),
        LinePosition(12, 12),
        LinePosition(30, 10, "5:9:"),
        LinePosition(30, 10, "5:9:5,7"),
    ],
)
def test_a_position_survives_its_cursor(position: LinePosition) -> None:
    assert read_position(position.text()) == position
    assert "," not in position.text()


@pytest.mark.parametrize(
    "cursor",
    ["", "a", "9" * 19, "30~40~5:9:", "30~10~9:5:", "30~10~5:9:4", "30~10~5:9:7.6", "30~10~0:9:"],
)
def test_another_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidArgument, match="is not of a log"):
        read_position(cursor)
