"""Pauses between attempts to reach the master."""

from __future__ import annotations

from tests.covers import covers

from determined_agent.link.backoff import ReconnectBackoff, pause_after_s
from determined_master.settings.pools import ResourcePool

MANY = 10_000


@covers("scheduling-and-provisioning d.3.tries")
def test_pauses_stay_short_for_a_minute_and_grow_after_it() -> None:
    pauses_s = [pause_after_s(n, 0) for n in range(1, 90)]
    longest_s = [pause_s for n, pause_s in enumerate(pauses_s) if sum(pauses_s[:n]) < 50]
    assert max(longest_s) <= 1.0
    assert pauses_s[-1] == 10.0
    assert pauses_s == sorted(pauses_s)


def test_after_many_short_lived_connections_pauses_stay_at_seconds() -> None:
    pauses_s = [pause_after_s(1, n) for n in range(1, 90)]
    assert pauses_s == sorted(pauses_s)
    assert pauses_s[-1] < 5.0


def test_no_pause_is_longer_than_the_master_waits() -> None:
    """The wait starts when the master accepts agents; an agent in a pause then keeps its tasks."""
    wait_s = ResourcePool(pool_name="any").agent_reconnect_wait_s
    assert pause_after_s(MANY, MANY) < wait_s / 2


def test_a_limit_gives_fixed_pauses_and_then_none() -> None:
    backoff = ReconnectBackoff(2, 5.0)
    assert [backoff.next_pause_s(0.5) for _ in range(3)] == [5.0, 5.0, None]
    backoff.joined()
    assert backoff.next_pause_s(0.5) == 5.0


def test_a_long_connection_resets_the_count_of_short_ones() -> None:
    backoff = ReconnectBackoff(None, 5.0)
    for _ in range(MANY):
        backoff.disconnected(0.1)
    after_short_s = backoff.next_pause_s(0.0)
    backoff.joined()
    backoff.disconnected(60.0)
    assert after_short_s == pause_after_s(1, MANY) / 2
    assert backoff.next_pause_s(0.0) == pause_after_s(1, 0) / 2
