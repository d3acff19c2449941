"""Machines from which no agent comes are tried again later each time, and one by one."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.domain.builders import T0

from determined_master.domain.machines.controller.unresponsive import (
    BACKOFF,
    Unresponsive,
    launch_after,
    record_silence,
)

MINUTE = timedelta(minutes=1)


def rest(unresponsive: Unresponsive) -> timedelta:
    assert unresponsive.until is not None
    assert unresponsive.at is not None
    return unresponsive.until - unresponsive.at


def in_a_row(rounds: int) -> Unresponsive:
    """Each launched when the rest of the one before was over, and given up after ten minutes."""
    unresponsive, now = Unresponsive(), T0
    for _ in range(rounds):
        launched = unresponsive.until or now
        now = launched + 10 * MINUTE
        unresponsive = record_silence(unresponsive, [launched], now)
    return unresponsive


def test_while_agents_come_all_that_is_wanted_is_started() -> None:
    assert launch_after(Unresponsive(), 7, T0, is_one_tried=False) == 7
    assert launch_after(Unresponsive(), 7, T0, is_one_tried=True) == 7


def test_rests_double_up_to_an_hour() -> None:
    assert [rest(in_a_row(n)) / MINUTE for n in range(1, 7)] == [5, 10, 20, 40, 60, 60]
    assert rest(in_a_row(2000)) == BACKOFF.longest


def test_after_a_rest_one_is_started_and_its_fate_awaited() -> None:
    unresponsive = in_a_row(1)
    assert unresponsive.until is not None
    assert launch_after(unresponsive, 7, unresponsive.until - MINUTE, is_one_tried=False) == 0
    assert launch_after(unresponsive, 7, unresponsive.until, is_one_tried=False) == 1
    assert launch_after(unresponsive, 7, unresponsive.until + MINUTE, is_one_tried=True) == 0
    assert launch_after(unresponsive, 0, unresponsive.until, is_one_tried=False) == 0


@given(st.lists(st.tuples(st.integers(-60, 0), st.integers(0, 30)), min_size=1, max_size=30))
def test_machines_starting_when_others_are_given_up_count_once(
    given_up: list[tuple[int, int]],
) -> None:
    """Of a gang: launched before the first of them is given up, given up one after another."""
    unresponsive: Unresponsive | None = None
    for launched, until in sorted(given_up, key=lambda one: one[1]):
        unresponsive = record_silence(
            unresponsive or Unresponsive(), [T0 + launched * MINUTE], T0 + until * MINUTE
        )
    assert unresponsive is not None
    assert unresponsive.rounds == 1
    assert rest(unresponsive) == BACKOFF.first


@given(st.lists(st.lists(st.integers(-90, 0), max_size=4), max_size=20))
def test_no_rest_is_longer_than_an_hour_after_the_last_was_given_up(
    ages: list[list[int]],
) -> None:
    unresponsive, now, last = Unresponsive(), T0, datetime.min.replace(tzinfo=T0.tzinfo)
    for launched in ages:
        now += 10 * MINUTE
        before, unresponsive = (
            unresponsive,
            record_silence(unresponsive, [now + age * MINUTE for age in launched], now),
        )
        assert unresponsive.rounds - before.rounds in (0, 1)
        last = now if unresponsive != before else last
    assert (unresponsive.until or last) <= last + BACKOFF.longest
