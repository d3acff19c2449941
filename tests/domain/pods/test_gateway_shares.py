"""Shares of a Gateway's ports: nobody takes all of them, and who holds few gets the last ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.pods.gateway_listeners import Lease, with_lease
from determined_master.domain.pods.gateway_ports import PortRange
from determined_master.domain.pods.gateway_shares import (
    PortUse,
    holders_text,
    may_take,
    use_of,
)

RANGE = PortRange(40000, 40009)
users = st.sampled_from(["ann", "bob", "cy", "dee"])


def use(free: int, **by_user: int) -> PortUse:
    return PortUse(in_range=free, listeners=free, by_user=by_user)


def filled(size: int, asks: list[tuple[str, int]]) -> PortUse:
    """The use of a range after users have asked in turn."""
    found = use(size)
    for user, wanted in asks:
        if wanted <= found.free and may_take(found, user, wanted):
            held = {**found.by_user, user: found.by_user.get(user, 0) + wanted}
            found = use(found.free - wanted, **held)
    return found


@pytest.mark.parametrize(("size", "most"), [(1, 1), (4, 4), (5, 4), (8, 7), (64, 52), (1000, 800)])
def test_a_user_alone_gets_all_of_a_small_range_and_four_fifths_of_a_large_one(
    size: int, most: int
) -> None:
    assert filled(size, [("ann", 1)] * size).by_user == {"ann": most}


@given(st.integers(5, 100), st.lists(st.tuples(users, st.integers(1, 4)), max_size=200))
def test_a_user_who_holds_none_gets_a_port_while_one_is_free(
    size: int, asks: list[tuple[str, int]]
) -> None:
    found = filled(size, asks)
    assert found.free >= 0
    if found.free:
        assert may_take(found, "new", 1)
    assert all(held < size for held in found.by_user.values())


@given(st.integers(1, 100), users, st.integers(1, 8))
def test_a_freed_port_goes_to_those_who_hold_few(held: int, user: str, wanted: int) -> None:
    full = use(1, **{user: held})
    assert may_take(full, user, 1) == (held < 4)
    assert not may_take(full, user, 2)


def test_a_task_of_many_ports_is_no_way_around_the_share() -> None:
    assert may_take(use(64), "ann", 52)
    assert not may_take(use(64), "ann", 53)


def gateway(*ports: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "metadata": {"annotations": {}},
        "spec": {"listeners": [{"name": "web", "port": 80}, {"name": "db", "port": 40009}]},
    }
    for port in ports:
        lease = Lease(
            port=port, cluster_id="x", container_id="c", container_port=1, namespace="n", route="r"
        )
        made = with_lease(made, lease)
    return made


def test_ports_are_counted_by_user_and_those_of_others_together() -> None:
    found = use_of(
        gateway(40000, 40001, 40002, 40003),
        RANGE,
        {40000: "ann", 40001: "ann", 40002: "bob", 40004: "bob", 39999: "ann"},
    )
    assert found.by_user == {"ann": 2, "bob": 2}
    assert found.others == 2, "40003 of another master, and a listener that somebody has added"
    assert (found.in_range, found.listeners, found.free) == (4, 58, 4)


def test_a_port_whose_user_is_unknown_counts_for_no_user() -> None:
    found = use_of(gateway(40000), RANGE, {40000: ""})
    assert (found.by_user, found.others, found.in_range) == ({}, 2, 8)


def test_listeners_are_used_up_before_a_wide_range_is() -> None:
    wide = PortRange(32768, 65535)
    found = use_of(gateway(40000, 40001), wide, {40000: "ann", 40001: "ann"}, 5)
    assert (found.free, may_take(found, "ann", 1), may_take(found, "bob", 1)) == (1, True, True)
    full = use_of(gateway(*range(40000, 40004)), wide, {n: "ann" for n in range(40000, 40004)}, 7)
    assert (full.free, may_take(full, "ann", 1), may_take(full, "bob", 1)) == (1, False, True)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (PortUse(in_range=0, listeners=0), ""),
        (use(0, bob=2, ann=40), "ann 40, bob 2"),
        (use(0, a=1, b=1, c=1, d=1, e=3), "e 3, a 1, b 1, others 2"),
        (PortUse(in_range=0, listeners=0, by_user={"ann": 1}, others=2), "ann 1, others 2"),
    ],
)
def test_the_reason_names_those_who_hold_most(found: PortUse, text: str) -> None:
    assert holders_text(found) == text
