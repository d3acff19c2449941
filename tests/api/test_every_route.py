"""Every route of the table, sent by those who may not: nothing of a hidden workspace is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.api.client import Answer
from tests.api.hidden import EDITOR, MARK, VIEWER, give, hidden_world, take
from tests.api.samples import World

from determined_master.api.access_rules import Need, Rule
from determined_master.api.access_table import RULES
from determined_master.api.routes import Route
from determined_master.api.table import all_routes
from determined_master.domain.access import Caller, can
from determined_master.domain.rights import Grant, rights_of
from determined_master.services.passwords import Passwords
from determined_master.store.pool import Address
from determined_wire.rest.endpoints import ENDPOINTS

LOGOUT = ("POST", "/api/v1/auth/logout")
ROUTES = sorted(
    (r for r in all_routes() if r.method not in ("WS", "*")),
    key=lambda r: ((r.method, r.path) == LOGOUT, r.path, r.method),  # that one ends the session
)
NAMES = {
    "id": "1",
    "template.name": "mine",
    "user_id": "1",
    "username": "admin",
    "agent_id": "a1",
    "slot_id": "0",
    "resource_pool_name": "default",
    "workload_type": "EXPERIMENT",
    "resources_id": "r",
    "label": "x",
    "key": "lr",
    "role_id": "1",
    "token_id": "1",
    "model_version_num": "1",
    "external_trial_id": "x",
    "path*": "x",
}
"""Values of parameters that name nothing in a workspace."""
BODIES: dict[tuple[str, str], Any] = {
    ("PATCH", "/api/v1/users"): {"userIds": [1], "activate": False},
    ("POST", "/api/v1/groups/search"): {"limit": 9},
    ("POST", "/api/v1/groups"): {"name": "mine"},
    ("POST", "/api/v1/roles/search"): {"limit": 9},
    ("POST", "/api/v1/roles/search/by-ids"): {"roleIds": [1, 2, 4]},
    ("POST", "/api/v1/roles/search/by-assignability"): {"limit": 9},
    ("POST", "/api/v1/workspaces"): {"name": "mine"},
    ("POST", "/api/v1/tokens"): {"userId": 1},
    ("POST", "/api/v1/models"): {"name": "mine"},
    ("POST", "/api/v1/generic-tasks"): {"config": "entrypoint: x"},
    ("PATCH", "/api/v1/users/{user_id}"): {"admin": True},
    ("POST", "/api/v1/users"): {"user": {"username": "x"}},
    ("POST", "/api/v1/users/{user_id}/password"): "Secret-12345",
    ("PUT", "/api/v1/config-policies/global/{workload_type}"): {"configPolicies": "{}"},
}
_FROM = "2026-01-01T00:00:00Z"
_UNTIL = "2026-01-02T00:00:00Z"
QUERIES = {
    "/api/v1/resources/allocation/raw": f"timestampAfter={_FROM}&timestampBefore={_UNTIL}",
    "/api/v1/resources/allocation/aggregated": (
        "startDate=2026-01-01&endDate=2026-01-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
    ),
    "/resources/allocation/raw": f"timestamp_after={_FROM}&timestamp_before={_UNTIL}",
    "/resources/allocation/allocations-csv": f"timestamp_after={_FROM}&timestamp_before={_UNTIL}",
    "/resources/allocation/aggregated": (
        "start_date=2026-01-01&end_date=2026-01-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
    ),
}
ITEMS = {("PATCH", "/api/v1/users"), ("POST", "/api/v1/job-queues")}
"""Answers 200 with an error an item, or does what an empty list asks for."""
PARTS = {(e.method, e.path): e.body for e in ENDPOINTS}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


def rule_of(route: Route) -> Rule:
    return RULES[route.method, route.path]


def needs_of(route: Route) -> tuple[Need, ...]:
    rule = rule_of(route)
    return () if isinstance(rule, str) else rule


async def sent(world: World, route: Route) -> Answer:
    """The answer to a request that names what is hidden wherever the route names anything."""
    needs = {need.field: world.names.get(need.thing, "nothing") for need in needs_of(route)}
    path, used = route.path, set[str]()
    for part in route.path.split("/"):
        if part.startswith("{"):
            name = part.strip("{}")
            value = needs.get(name) or NAMES.get(name) or world.names[name.removesuffix("_id")]
            path, used = path.replace(part, value), used | {name}
    body: Any = BODIES.get((route.method, route.path), {})
    if (route.method, route.path) == ("POST", "/task-logs"):
        body = [{"task_id": world.names["task"], "log": "x"}]
    elif (route.method, route.path) == ("POST", "/api/v1/runs/kill"):
        body = {"runIds": [int(world.names["trial"])]}
    elif (route.method, route.path) == ("POST", "/api/v1/templates/{template.name}"):
        body = {"config": {}, "workspaceId": int(world.names["workspace"])}
    query = [QUERIES[route.path]] if route.path in QUERIES else []
    for field, value in needs.items():
        if field in used:
            continue
        names = [_camel(part) for part in field.split(".")]
        if route.method == "GET":
            query.append(f"{'.'.join(names)}={value}")
        elif names[0] != _camel(PARTS.get((route.method, route.path), "*")):
            body = _with(dict(body), names, value, field)
        else:  # the body is that part of the request
            body = _with(dict(body), names[1:], value, field)
    target = path + ("?" + "&".join(query) if query else "")
    return await world.clients["user"](
        route.method, target, None if route.method == "GET" else body
    )


LISTS = {"ids", "trial_ids", "experiment_ids", "checkpoint_uuids"}
MANY = {"checkpoints", "batches", "logs"}


def _with(body: dict[str, Any], names: list[str], value: str, field: str) -> dict[str, Any]:
    """The body with a value at a dotted name."""
    first, *rest = names
    inner: Any = value
    if rest:
        known = body.get(first, {})
        known = known[0] if isinstance(known, list) else known
        inner = _with(dict(known), rest, value, field)
        inner = [inner] if first in MANY else inner
    elif field in LISTS:
        inner = [value]
    return {**body, first: inner}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


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
    if rule == "asks":
        is_item = (route.method, route.path) in ITEMS
        return "" if status in (403, 404) or (is_item and status == 200) else named
    if rule == "filters":
        return "" if status in (200, 404) else named
    return ""


def test_every_route_has_a_rule() -> None:
    """A route without one is for admins alone: say in `access_table.py` what it needs."""
    assert {(r.method, r.path) for r in all_routes()} == RULES.keys()


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_no_route_tells_anything_to_who_has_no_role(world: World) -> None:
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
async def test_who_may_only_see_is_refused_every_change(world: World) -> None:
    """403, and not 404: what one sees is not denied to be there."""
    workspace_id = int(world.names["workspace"])
    viewer = Caller(user_id=2, username="u", rights=rights_of([Grant(VIEWER, workspace_id)]))
    await give(world, VIEWER, workspace_id)
    try:
        refused = 0
        for route in ROUTES:
            if needs_more(viewer, route, workspace_id):
                answer = await sent(world, route)
                assert what_is_wrong(route, answer, only=frozenset({403})) == ""
                refused += 1
        assert refused > 60
    finally:
        await take(world, VIEWER, workspace_id)


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_who_may_see_is_told_of_everything_that_a_get_names(world: World) -> None:
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
