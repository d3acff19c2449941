"""Every route of the table, sent by those who may not: nothing of a hidden workspace is told."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.api.client import Answer
from tests.api.hidden import EDITOR, MARK, VIEWER, give, hidden_world, take
from tests.api.named_requests import needs_of, rule_of, sent
from tests.api.samples import World

from determined_master.api.http.access import FILTERED, IN_SERVICE
from determined_master.api.http.routes import Route
from determined_master.api.table import all_routes
from determined_master.domain.access.rights import Grant, rights_of
from determined_master.domain.access.rules import Caller, can
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

LOGOUT = ("POST", "/api/v1/auth/logout")
ROUTES = sorted(
    (r for r in all_routes() if r.method not in ("WS", "*")),
    key=lambda r: ((r.method, r.path) == LOGOUT, r.path, r.method),  # that one ends the session
)
ITEMS = {("PATCH", "/api/v1/users"), ("POST", "/api/v1/job-queues")}
"""Answers 200 with an error an item, or does what an empty list asks for."""
DEFAULT_POOL = "/api/v1/resource-pools/{resource_pool_name}/workspace-bindings"
"""The sample names the default pool, which nobody can bind: 400. Everybody may list the pools."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


def needs_more(caller: Caller, route: Route, workspace_id: int) -> bool:
    """Whether a route does something in a workspace that the caller may not do there."""
    return any(
        need.kind and not can(caller, need.action, need.kind, workspace_id=workspace_id)
        for need in needs_of(route)
    )


def what_is_wrong(route: Route, answer: Answer, *, only: frozenset[int]) -> str:
    """Why an answer to somebody who sees nothing is not right; empty when it is."""
    rule, status = rule_of(route), answer.status
    named = f"{route.method} {route.path}: {status} {answer.body[:200]!r}"
    if MARK.encode() in answer.body or status >= 500:
        return named
    if isinstance(rule, tuple):
        return "" if status in only else named
    if rule == IN_SERVICE:
        is_item = (route.method, route.path) in ITEMS
        is_default_pool = route.path == DEFAULT_POOL and status == 400
        allowed = status in (403, 404) or (is_item and status == 200) or is_default_pool
        return "" if allowed else named
    if rule == FILTERED:
        return "" if status in (200, 404) else named
    return ""


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_no_route_shows_anything_to_users_without_a_role(world: World) -> None:
    only = frozenset({404})
    found = [
        what_is_wrong(r, await sent(world, r), only=only) for r in ROUTES if r.path != LOGOUT[1]
    ]
    assert [text for text in found if text] == []


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_role_in_another_workspace_opens_none_of_them(world: World) -> None:
    await give(world, EDITOR, 1)
    try:
        for route in ROUTES:
            if isinstance(rule_of(route), tuple):
                answer = await sent(world, route)
                assert what_is_wrong(route, answer, only=frozenset({404})) == ""
    finally:
        await take(world, EDITOR, 1)


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_viewers_are_refused_every_change(world: World) -> None:
    """403, and not 404: what one sees is not denied to be there."""
    workspace_id = int(world.names["workspace"])
    viewer = Caller(user_id=2, username="u", rights=rights_of([Grant(VIEWER, workspace_id)]))
    await give(world, VIEWER, workspace_id)
    try:
        refused = 0
        for route in ROUTES:
            if needs_more(viewer, route, workspace_id):
                answer = await sent(world, route)
                # A viewer knows the workspace that a refusal names.
                body = re.sub(rb" in workspace '[^']*'", b"", answer.body)
                answer = dataclasses.replace(answer, body=body)
                assert what_is_wrong(route, answer, only=frozenset({403})) == ""
                refused += 1
        assert refused > 60
    finally:
        await take(world, VIEWER, workspace_id)


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_viewers_can_read_everything_that_a_get_names(world: World) -> None:
    workspace_id = int(world.names["workspace"])
    viewer = Caller(user_id=2, username="u", rights=rights_of([Grant(VIEWER, workspace_id)]))
    await give(world, VIEWER, workspace_id)
    try:
        for route in ROUTES:
            is_read = route.method == "GET" and not needs_more(viewer, route, workspace_id)
            if is_read and needs_of(route):
                answer = await sent(world, route)
                assert answer.status not in (403, 500), (route.path, answer.body)
                assert b"no role of yours" not in answer.body, route.path
    finally:
        await take(world, VIEWER, workspace_id)
