"""No route answers with an internal error to what cannot be stored or counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from tests.api import hostile
from tests.api.hidden import hidden_world
from tests.api.named_requests import PARTS, named
from tests.api.samples import World

from determined_master.api.protojson.shape import shape_of
from determined_master.api.routes import Route
from determined_master.api.table import all_routes
from determined_master.services.passwords import Passwords
from determined_master.store.pool import Address

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CONFIG = {"resources": {"slots": 0}, "entrypoint": ["true"]}
MORE: dict[str, dict[str, Any]] = {
    "/api/v1/experiments": {"config": "entrypoint: x\nsearcher: {name: single, metric: loss}\n"},
    "/api/v1/commands": {"config": CONFIG},
    "/api/v1/notebooks": {"config": {"resources": {"slots": 0}}},
    "/api/v1/shells": {"config": {"resources": {"slots": 0}}},
}
"""What a request needs to be taken, beside the things that it names."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


def requests_to(world: World, route: Route) -> Iterator[tuple[str, bytes | None]]:
    """Target and body of each hostile request to a route."""
    base = named(world, route)
    whole = MORE.get(route.path, {}) | base.body if isinstance(base.body, dict) else base.body
    body = None if route.method == "GET" else hostile.encoded(whole)
    for name in base.values:
        for text in hostile.PATHS:
            yield base.target(**{name: text}), body
    if route.request is None:
        return
    if route.method in ("GET", "DELETE"):
        for query in hostile.queries(route.request, base.query):
            yield f"{base.path}?{query}", None
    part = PARTS.get((route.method, route.path), route.body)
    if part:
        sent = hostile.bodies(route.request, whole) if part == "*" else _of_part(route, part, whole)
        for one in sent:
            yield base.target(), hostile.encoded(one)
        for raw in hostile.RAW:
            yield base.target(), raw


def _of_part(route: Route, part: str, whole: Any) -> Iterator[Any]:
    assert route.request is not None
    field = shape_of(route.request).by_name[part]
    if field.kind == "message":
        return hostile.bodies(field.target, whole)
    return iter(hostile.VALUES[field.kind])
