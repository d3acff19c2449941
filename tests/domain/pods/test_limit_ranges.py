"""Defaults of a namespace for containers without resources."""

from __future__ import annotations

from typing import Any

from determined_master.domain.pods.limit_ranges import (
    NO_DEFAULTS,
    LimitRangeCache,
    ResourceDefaults,
    defaults_of,
)
from determined_master.domain.pods.needs import needs_of
from determined_master.domain.pods.quantities import quantity


def limit_range(name: str, namespace: str = "lab", **limit: Any) -> dict[str, Any]:
    given = {"type": "Container", **limit}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"limits": [given]}}


DEFAULTS = defaults_of(
    limit_range("d", default={"memory": "2Gi", "cpu": "2"}, defaultRequest={"memory": "1Gi"})
)


def test_a_container_gets_what_it_lacks() -> None:
    requests = {"memory": quantity("1Gi"), "cpu": 2, "pods": 1}  # a limit is a request, too
    assert needs_of(None, defaults=DEFAULTS).requests == requests
    assert needs_of(None, defaults=DEFAULTS).limits == {"memory": quantity("2Gi"), "cpu": 2}
    assert needs_of(None).limits == {}


def test_each_container_gets_it_and_keeps_what_it_names() -> None:
    named = {"resources": {"requests": {"memory": "3Gi"}, "limits": {"cpu": "1"}}}
    found = needs_of({"spec": {"containers": [named, {}]}}, defaults=DEFAULTS)
    # the task's own container is not among these two, and gets the defaults as well
    assert found.requests == {"memory": quantity("5Gi"), "cpu": 5, "pods": 1}
    assert found.limits == {"memory": quantity("6Gi"), "cpu": 5}


def test_resources_that_the_platform_sets_get_no_default() -> None:
    found = needs_of(None, without=frozenset({"cpu"}), defaults=DEFAULTS)
    assert found.limits == {"memory": quantity("2Gi")}


def test_the_ranges_of_a_namespace_are_known_as_of_their_last_change() -> None:
    board = LimitRangeCache()
    one = limit_range("b", default={"cpu": "1", "memory": "1"})
    board.replace_all([one, limit_range("p", "other", type="Pod", default={"cpu": "9"})])
    assert board.by_namespace()["other"] == NO_DEFAULTS
    board.put(limit_range("a", default={"cpu": "3"}))
    assert board.by_namespace()["lab"] == ResourceDefaults({}, {"cpu": 3, "memory": 1})
    board.remove(one)
    assert board.by_namespace()["lab"] == ResourceDefaults({}, {"cpu": 3})
    board.replace_all([])
    assert board.by_namespace() == {}
