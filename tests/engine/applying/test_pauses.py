"""A work of many events leaves time to others, and has all of it while it is alone."""

from __future__ import annotations

from determined_master.engine.applying.pauses import MIN_EVENTS, PAUSE_PER_S, RECENT_S, Pauses


def test_a_work_that_is_alone_never_pauses() -> None:
    pauses = Pauses()
    assert [pauses.after("search", 32, 0.01, n * 0.01) for n in range(100)] == [0.0] * 100


def test_a_large_batch_beside_another_work_is_followed_by_a_pause_of_four_times_its_length() -> (
    None
):
    pauses = Pauses()
    pauses.after("neighbour", 1, 0.01, 5.0)
    assert pauses.after("search", MIN_EVENTS, 0.01, 5.0 + RECENT_S) == 0.01 * PAUSE_PER_S
    assert PAUSE_PER_S == 4.0


def test_a_small_batch_is_followed_by_no_pause() -> None:
    pauses = Pauses()
    pauses.after("search", 32, 0.01, 5.0)
    assert pauses.after("neighbour", MIN_EVENTS - 1, 0.01, 5.0) == 0.0


def test_a_neighbour_that_had_no_events_for_a_while_does_not_count() -> None:
    pauses = Pauses()
    pauses.after("neighbour", 1, 0.01, 5.0)
    assert pauses.after("search", 32, 0.01, 5.5) > 0.0
    assert pauses.after("search", 32, 0.01, 5.1 + RECENT_S) == 0.0


def test_two_large_works_both_pause() -> None:
    pauses = Pauses()
    pauses.after("one", 32, 0.01, 5.0)
    assert pauses.after("two", 32, 0.01, 5.0) > 0.0
    assert pauses.after("one", 32, 0.01, 5.1) > 0.0
