"""A search without a limit over the engine: its trials come in portions, all of them."""

from __future__ import annotations

import pytest
from tests.api.samples import World
from tests.api.scenes import reaches, trials_of

CONFIG = """
entrypoint: x
searcher: {name: random, metric: loss, max_trials: 7, max_concurrent_trials: 0}
"""


async def test_portions_follow_each_other_until_all_trials_are_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("determined_master.domain.search.random.MAX_CREATED", 3)
    admin = world.clients["admin"]
    made = await admin("POST", "/api/v1/experiments", {"config": CONFIG, "activate": True})
    number = made.json()["experiment"]["id"]
    trials = await trials_of(world, number, 7)
    assert len({trial["id"] for trial in trials}) == 7
    story = (await admin("GET", f"/api/v1/experiments/{number}/story")).json()["lines"]
    grown = [line for line in story if line["event"] == "search_grown"]
    assert len(grown) == 2
    await admin("POST", f"/api/v1/experiments/{number}/kill")
    await reaches(world, number, "STATE_CANCELED")
