"""Kubernetes' events as lines of task logs."""

from __future__ import annotations

import pytest
from tests.covers import covers

from determined_master.backends.kubernetes.log.event_lines import (
    happened_at,
    identity,
    level_of,
    line_of,
    obstacle_of,
)


@covers("helm-and-kubernetes 13.scale_up 13.assigned 13.deleting 13.waiting 13.other")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Pulling image", "Pod det-x: Pulling image"),
        ("Successfully assigned a/b to c", "Pod det-x: its resources are allocated"),
        ("pod triggered scale-up: [x]", "Pod det-x: the task needs more machines"),
        ("skip schedule deleting pod: a/b", "Pod det-x: the pod was deleted before"),
        (
            "Pod was active on the node longer than the specified deadline",
            "Pod det-x: it is being ended",
        ),
        ("0/3 nodes are available: 3 Insufficient cpu.", "Pod det-x: waits for resources"),
    ],
)
def test_events_are_described_in_words(text: str, line: str) -> None:
    event = {"involvedObject": {"kind": "Pod", "name": "det-x"}, "message": text}
    said = line_of(event)
    assert said is not None
    assert said.startswith(line)


def test_an_event_that_says_nothing_is_none() -> None:
    assert line_of({"message": " "}) is None


def test_a_repeated_event_is_one_until_its_text_changes() -> None:
    event = {"metadata": {"uid": "u"}, "count": 2, "type": "Warning", "message": "no"}
    assert identity(event) == identity({**event, "count": 3})
    assert identity(event) != identity({**event, "message": "(combined from similar events): x"})
    assert identity(event) != identity({**event, "metadata": {"uid": "v"}})
    assert level_of(event) == "WARNING"


def test_the_latest_time_of_an_event_counts() -> None:
    at = happened_at({"lastTimestamp": "2026-01-01T00:00:05Z", "eventTime": None})
    assert at is not None
    assert at.second == 5


def test_only_warnings_about_volumes_and_networks_are_obstacles_to_a_start() -> None:
    event = {"type": "Warning", "reason": "FailedMount", "message": " no volume "}
    assert obstacle_of(event) == "FailedMount: no volume"
    assert obstacle_of({**event, "type": "Normal"}) is None
    assert obstacle_of({**event, "reason": "FailedScheduling"}) is None
    assert obstacle_of({}) is None
