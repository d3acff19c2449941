"""When usage is summed up."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import asyncpg
import pytest
from tests.covers import covers

from determined_master.sweeps import usage as sweep


class Counted:
    """Notes when it is called; the first calls fail as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.calls: list[datetime] = []
        self.called = asyncio.Event()
        self._failures = failures

    async def sum_up(self, now: datetime) -> int:
        self.calls.append(now)
        if len(self.calls) <= self._failures:
            raise asyncpg.CannotConnectNowError
        self.called.set()
        return 1


@covers("scheduling-and-provisioning e.5.nightly")
@pytest.mark.parametrize("failures", [0, 2])
async def test_days_are_summed_up_when_a_lead_begins_and_again_after_a_failure(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "RETRY_S", 0)
    counted: Any = Counted(failures)
    running = asyncio.create_task(sweep.aggregate_usage(counted))
    await asyncio.wait_for(counted.called.wait(), 60)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(counted.calls) == failures + 1
