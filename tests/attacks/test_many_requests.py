"""N10: many requests of one user, each within its bounds, hold up everybody else."""

from __future__ import annotations

import asyncio

import pytest
from tests.api.samples import World

from determined_master.services.access.users import Users

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
MANY = 60
"""Three times as many as there are connections to the database."""
ENDS_S = 20


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/projects/1/experiments/archive", {"experimentIds": [1]}),
        ("GET", "/api/v1/experiments/1/trials", None),
    ],
)
async def test_one_users_requests_leave_connections_to_others(
    world: World, method: str, path: str, body: object
) -> None:
    pool = world.services[Users]._db
    user, admin = world.clients["user"], world.clients["admin"]
    # The user's requests stand still in the database, as slow ones do.
    async with pool.acquire() as conn, conn.transaction():
        await conn.execute("LOCK TABLE projects, experiments, trials, runs, tasks, allocations")
        requests = [asyncio.create_task(user(method, path, body)) for _ in range(MANY)]
        try:
            async with asyncio.timeout(ENDS_S):
                while pool.get_size() - pool.get_idle_size() < 10:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                answer = await admin("GET", "/api/v1/users")
        finally:
            for each in requests:
                each.cancel()
            await asyncio.gather(*requests, return_exceptions=True)
    assert answer.status == 200
