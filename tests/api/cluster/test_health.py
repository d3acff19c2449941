"""`/health` tells with a token whether the master keeps up with its work."""

from __future__ import annotations

import pytest
from tests.api.samples import World

from determined_master.services.cluster import master


async def test_work_that_is_late_is_degraded_and_the_master_stays_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = world.clients["admin"]
    answer = (await admin("GET", "/health")).json()
    assert (answer["status"], answer["database"]) == ("up", "up")
    assert answer["effects"]["status"] == "up"
    assert answer["effects"]["oldest_age_s"] >= 0
    monkeypatch.setattr(master, "LATE_S", -1.0)
    late = await admin("GET", "/health")
    assert (late.status, late.json()["status"]) == (200, "up")
    assert late.json()["effects"]["status"] == "degraded"


async def test_prometheus_reads_the_age_of_the_oldest_effect(world: World) -> None:
    answer = await world.clients["admin"]("GET", "/prom/det-state-metrics")
    assert "\ndet_oldest_effect_age_seconds " in answer.body.decode()
