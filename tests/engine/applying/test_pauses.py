"""A work of many events leaves time to others, and has all of it while it is alone."""

from __future__ import annotations

from determined_master.engine.applying.pauses import (
    MAX_CAUSED_S,
    MAX_USERS,
    MIN_EVENTS,
    PAUSE_PER_S,
    RECENT_S,
    Pauses,
)
from determined_master.engine.turns import Owner

SEARCH = Owner("ann", "search")
NEIGHBOUR = Owner("bob", "neighbour")
ONE, TWO = Owner("ann", "one"), Owner("bob", "two")


def test_a_work_that_is_alone_never_pauses() -> None:
    pauses = Pauses()
    assert [pauses.after(SEARCH, 32, 0.01, n * 0.01) for n in range(100)] == [0.0] * 100


def test_a_large_batch_beside_another_work_is_followed_by_a_pause_of_four_times_its_length() -> (
    None
):
    pauses = Pauses()
    pauses.after(NEIGHBOUR, 1, 0.01, 5.0)
    assert pauses.after(SEARCH, MIN_EVENTS, 0.01, 5.0 + RECENT_S) == 0.01 * PAUSE_PER_S
    assert PAUSE_PER_S == 4.0


def test_a_small_batch_is_followed_by_no_pause() -> None:
    pauses = Pauses()
    pauses.after(SEARCH, 32, 0.01, 5.0)
    assert pauses.after(NEIGHBOUR, MIN_EVENTS - 1, 0.01, 5.0) == 0.0


def test_a_neighbour_that_had_no_events_for_a_while_does_not_count() -> None:
    pauses = Pauses()
    pauses.after(NEIGHBOUR, 1, 0.01, 5.0)
    assert pauses.after(SEARCH, 32, 0.01, 5.5) > 0.0
    assert pauses.after(SEARCH, 32, 0.01, 5.1 + RECENT_S) == 0.0


def test_two_large_works_both_pause() -> None:
    pauses = Pauses()
    pauses.after(ONE, 32, 0.01, 5.0)
    assert pauses.after(TWO, 32, 0.01, 5.0) > 0.0
    assert pauses.after(ONE, 32, 0.01, 5.1) > 0.0


def share_of_search(trickles: int, total_s: float) -> float:
    """The share of the time that a search works beside users who have an event twice a second."""
    pauses = Pauses()
    now_s, worked_s, last_s = 0.0, 0.0, 0.0
    while now_s < total_s:
        if now_s - last_s >= 0.5:
            last_s = now_s
            for n in range(trickles):
                pauses.after(Owner(f"bob {n}", "drop"), 1, 0.001, now_s)
        now_s += 0.01
        worked_s += 0.01
        now_s += pauses.after(SEARCH, 32, 0.01, now_s)
    return worked_s / now_s


def test_the_events_of_one_user_slow_a_work_for_a_bounded_time() -> None:
    assert share_of_search(1, 10.0) < 0.25, "it leaves time to the neighbour"
    assert share_of_search(1, 1000.0) > 0.85, "it had a fifth of the time for as long as they came"


def test_after_some_time_a_user_may_cause_pauses_again() -> None:
    pauses = Pauses()
    now_s = 0.0
    caused = []
    for _ in range(3):
        pauses.after(NEIGHBOUR, 1, 0.01, now_s)
        caused.append(pauses.after(SEARCH, 32, 10.0, now_s))
    assert caused == [MAX_CAUSED_S, 0.0, 0.0]
    now_s += 50.0
    pauses.after(NEIGHBOUR, 1, 0.01, now_s)
    assert pauses.after(SEARCH, 32, 10.0, now_s) == MAX_CAUSED_S / 2


def test_another_user_is_waited_for_though_one_has_caused_enough() -> None:
    pauses = Pauses()
    pauses.after(NEIGHBOUR, 1, 0.01, 0.0)
    pauses.after(SEARCH, 32, 10.0, 0.0)
    pauses.after(Owner("eve", "work"), 1, 0.01, 0.0)
    assert pauses.after(SEARCH, 32, 0.01, 0.0) > 0.0


def test_the_users_that_are_remembered_are_bounded() -> None:
    pauses = Pauses()
    for n in range(MAX_USERS + 9):
        pauses.after(Owner(f"u{n}", "w"), 1, 0.01, 0.0)
        pauses.after(SEARCH, 32, 0.01, 0.0)
    assert len(pauses._caused) == MAX_USERS
