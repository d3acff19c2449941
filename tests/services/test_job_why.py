"""What holds a waiting job, as it is told to its users and to admins."""

from __future__ import annotations

import pytest
from tests.provision.machine_world import World

from determined_master.domain.access import Caller
from determined_master.services.job_why import JobWhy
from determined_master.store.pool import Pool

ADMIN = Caller(user_id=1, username="admin", is_admin=True)
USER = Caller(user_id=2, username="user")
QUOTA = "the quota of machines is used up"


async def test_a_providers_text_is_told_to_admins_and_to_others_that_there_is_one(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pool, monkeypatch)
    task = world.submit_in_vain()
    await world.tick()
    await world.tick()
    decision = world.pool.decision
    assert decision is not None
    why = JobWhy(pool, world.live, lambda name: decision, lambda name: world.loop.news)
    assert f"no machine can be started at present: {QUOTA}" in (await why.why(ADMIN, task)).text
    short = "no machine can be started at present, and the provider's reason is told to admins"
    shown = (await why.why(USER, task)).text
    assert short in shown
    assert QUOTA not in shown
    logged = await why.tell(decision, task)
    assert logged is not None
    assert short in logged, "logs are read by others too"
    assert QUOTA not in logged
