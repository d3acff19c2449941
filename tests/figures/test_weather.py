"""The bare peer of the machine, as a process."""

from __future__ import annotations

import pytest
from bench.weather import Peer


@pytest.mark.slow
def test_the_peer_reports_the_machine_since_the_last_question() -> None:
    with Peer() as peer:
        first, second = peer.conditions(), peer.conditions()
    assert first.slowness >= 1
    assert second.late_s >= 0
