from tests.covers import covers

from determined_agent.link.connection import pause_after_s
from determined_master.settings.pools import ResourcePool

MANY = 10_000


@covers("scheduling-and-provisioning d.3.tries")
def test_pauses_stay_short_for_a_minute_and_grow_after_it() -> None:
    pauses_s = [pause_after_s(n, 0) for n in range(1, 90)]
    longest_s = [pause_s for n, pause_s in enumerate(pauses_s) if sum(pauses_s[:n]) < 50]
    assert max(longest_s) <= 1.0
    assert pauses_s[-1] == 10.0
    assert pauses_s == sorted(pauses_s)


def test_whoever_was_sent_away_often_dials_again_within_seconds() -> None:
    pauses_s = [pause_after_s(1, n) for n in range(1, 90)]
    assert pauses_s == sorted(pauses_s)
    assert pauses_s[-1] < 5.0


def test_no_pause_outlasts_the_masters_patience() -> None:
    """It waits from when it lets agents in: who still pauses then must not lose its tasks."""
    patience_s = ResourcePool(pool_name="any").agent_reconnect_wait_s
    assert pause_after_s(MANY, MANY) < patience_s / 2
