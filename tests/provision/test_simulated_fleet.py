"""The simulated day of a pool finds machines that are launched twice or left behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from bench.simulated_fleet import FlakyMachines, Job, SimulatedFleet, jobs_of

from determined_master.domain.machines.scaling import Machine
from determined_master.store.db import Database

IDLE = timedelta(minutes=5)


class Forgets(FlakyMachines):
    """Takes a repeated launch for a new one."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._count = 0

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        self._count += 1
        return await super().launch(count, f"{token}-{self._count}", is_repeated=is_repeated)


class Keeps(FlakyMachines):
    """Ends no machine that is called `default-1`."""

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        await super().terminate([id for id in machine_ids if id != "default-1"])


def world(
    db: Database, patch: pytest.MonkeyPatch, provider: type[FlakyMachines]
) -> SimulatedFleet:
    patch.setattr(
        SimulatedFleet, "provider", lambda self: provider(self, "default", SimulatedFleet.type)
    )
    return SimulatedFleet(db, patch, machines=10, failing=0.3, seed=1, idle=IDLE)


async def test_nothing_is_doubled_or_left_where_a_third_of_all_calls_fail(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = await world(pool, monkeypatch, FlakyMachines).day(jobs_of(1, 40))
    assert costs.failed > 0
    assert (costs.doubled, costs.orphans) == (0, 0)
    assert costs.most <= 10


async def test_a_cloud_that_forgets_tokens_is_seen_to_double(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job(at_s=600.0 * n, slots=8, work_s=3600.0) for n in range(10)]
    assert (await world(pool, monkeypatch, Forgets).day(jobs)).doubled > 0


async def test_a_machine_that_stays_is_an_orphan(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job(at_s=0.0, slots=8, work_s=600.0)]
    assert (await world(pool, monkeypatch, Keeps).day(jobs)).orphans == 1
