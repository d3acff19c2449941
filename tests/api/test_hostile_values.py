"""No route answers with an internal error to what cannot be stored or counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from tests.api import hostile
from tests.api.hidden import hidden_world
from tests.api.samples import World
from tests.api.whole_requests import MORE, ROUTES, requests_to

from determined_master.api.http.routes import Route
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

READ_RAW = ("/api/v1/models", "/api/v1/trials/metrics/batch", "/api/v1/experiments/{id}/move")
"""Routes whose bodies are read whole, by field, and by part: enough for what is no JSON."""
STRANGERS = ("/api/v1/auth/login",)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


async def test_no_route_answers_with_an_internal_error(world: World) -> None:
    """Ids beyond their column, NULs, halves of characters, names of 12 kB, JSON 90 deep."""
    client = world.clients["admin"]
    found = []
    for route in ROUTES:
        for target, body in _requests(world, route):
            answer = await client(route.method, target, body)
            if answer.status >= 500 and answer.status != 501:
                found.append((route.method, target[:200], (body or b"")[:200], answer.body))
            assert answer.status != 401 or route.path in STRANGERS, (route.path, target)
    assert found == []


async def test_a_key_too_long_for_an_index_is_refused_with_the_limit(world: World) -> None:
    headers = {"Idempotency-Key": hostile.LONG}
    answer = await world.clients["admin"](
        "POST", "/api/v1/experiments", MORE["/api/v1/experiments"], headers=headers
    )
    assert (answer.status, "Idempotency-Key may have at most 512" in answer.text) == (400, True)


def _requests(world: World, route: Route) -> Iterator[tuple[str, bytes | None]]:
    """Target and body of each hostile request to a route."""
    raw = hostile.RAW if route.path in READ_RAW else ()
    return requests_to(world, route, hostile.bad_values, paths=hostile.PATHS, raw=raw)
