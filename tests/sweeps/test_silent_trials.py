"""When trials that nobody hears of are looked for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.agent_link import until

from determined_master import clock
from determined_master.sweeps.periodic import end_silent_trials

SILENT_S = 0.3


class Looked:
    """Notes when it was asked to look, on the clock that only counts."""

    def __init__(self) -> None:
        self.at_s: list[float] = []

    async def end_silent(self, now: datetime) -> int:
        self.at_s.append(clock.monotonic_s())
        return 0


@pytest.mark.slow
async def test_only_time_counts_in_which_a_master_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a jump of the clock, which lets everybody look silent for long."""
    looked: Any = Looked()
    began_s = clock.monotonic_s()
    watching = asyncio.create_task(end_silent_trials(looked, silent_s=SILENT_S, period_s=0.01))
    try:
        await until(lambda: len(looked.at_s) > 3)
        assert looked.at_s[0] - began_s >= SILENT_S
        before = len(looked.at_s)
        monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + timedelta(hours=2))
        jumped_s = clock.monotonic_s()
        await until(lambda: len(looked.at_s) > before + 3)
        assert all(at_s <= jumped_s or at_s >= jumped_s + SILENT_S for at_s in looked.at_s)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
