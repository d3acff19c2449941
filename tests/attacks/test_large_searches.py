"""N2: a search creates its trials as they get slots, none while it is paused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.samples import World
from tests.api.scenes import reaches, run, trials_of

from determined_master.domain.search.decision import MAX_CREATED
from determined_master.services.access.users import Users

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
CONFIG = """
entrypoint: x
searcher: {name: random, metric: loss, max_trials: 10000, max_concurrent_trials: 2147483647}
"""


async def submit(world: World, *, activate: bool) -> int:
    body = {"config": CONFIG, "activate": activate}
    answer = await world.clients["user"]("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    return int(answer.json()["experiment"]["id"])


async def value(world: World, query: str, *arguments: Any) -> int:
    async with world.services[Users]._db.acquire() as conn:
        return int(await conn.fetchval(query, *arguments))


async def count_trials(world: World, experiment_id: int) -> int:
    return await value(
        world, "SELECT count(*) FROM trials WHERE experiment_id = $1", experiment_id
    )


async def count_effects(world: World, experiment_id: int) -> int:
    return await value(
        world, "SELECT count(*) FROM outbox WHERE kind = 'experiment' AND id = $1",
        str(experiment_id),
    )  # fmt: skip


async def only_growth_waits(world: World, experiment_id: int) -> None:
    """Return once the growth is the only open effect."""
    await scene.until_true(lambda: count_effects(world, experiment_id), lambda n: n == 1, [])


async def kill(world: World, experiment_id: int) -> None:
    await world.clients["user"]("POST", f"/api/v1/experiments/{experiment_id}/kill")
    await reaches(world, experiment_id, "STATE_CANCELED")


async def test_a_search_that_is_not_activated_is_one_row(world: World) -> None:
    experiment_id = await submit(world, activate=False)
    assert await count_effects(world, experiment_id) == 0
    assert await count_trials(world, experiment_id) == 0
    await kill(world, experiment_id)
    assert await count_trials(world, experiment_id) == 0


async def test_a_search_creates_trials_as_they_get_slots(world: World) -> None:
    experiment_id = await submit(world, activate=True)
    first, *_ = await trials_of(world, experiment_id, MAX_CREATED)
    await only_growth_waits(world, experiment_id)
    assert await count_trials(world, experiment_id) == MAX_CREATED
    names = await run(world, f"{first['taskId']}.1")
    await scene.until_true(
        lambda: count_trials(world, experiment_id), lambda n: n == 2 * MAX_CREATED, []
    )
    await only_growth_waits(world, experiment_id)
    assert await count_trials(world, experiment_id) == 2 * MAX_CREATED
    await world.clients["user"]("POST", f"/api/v1/experiments/{experiment_id}/kill")
    await scene.container(world, names, "TERMINATED", exit_code=137)
    await reaches(world, experiment_id, "STATE_CANCELED")
