from tests.covers import covers

from determined_agent.socket import doublings_after


@covers("scheduling-and-provisioning d.3.tries")
def test_pauses_stay_short_for_a_minute_and_grow_after_it() -> None:
    pauses_s = [min(30.0, 0.1 * 2 ** min(doublings_after(n), 16)) for n in range(1, 90)]
    longest_s = [pause_s for n, pause_s in enumerate(pauses_s) if sum(pauses_s[:n]) < 50]
    assert max(longest_s) <= 1.0
    assert pauses_s[-1] == 30.0
    assert pauses_s == sorted(pauses_s)
