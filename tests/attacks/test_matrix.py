"""Each route, asked by each kind of caller, answers with the status that its declaration says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.hidden import EDITOR, MARK, VIEWER, give, hidden_world
from tests.api.named_requests import named, needs_of
from tests.api.samples import World
from tests.attacks.tasks import as_task

from determined_master.api.http.access import FILTERED, IN_SERVICE
from determined_master.api.http.routes import Route
from determined_master.api.table import all_routes
from determined_master.domain.access.rights import Grant, rights_of
from determined_master.domain.access.rules import Caller, can
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.store.db import Address

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

LAST = (
    *("DELETE", "kill", "delete", "cancel", "remove-assignments"),
    *("daemon", "pending_preemption", "logout"),
)
STAYS_S = 2.0
"""An answer that has not ended by then is a stream, or waits for something: it is not refused."""
HIDES = b"no role of yours"


def _order(route: Route) -> tuple[bool, bool, str, str]:
    """Requests that take things away, and the end of the session, come after the others."""
    words = (route.method, route.path.rpartition("/")[2])
    return (words[1] == "logout", any(w in LAST for w in words), route.path, route.method)


ROUTES = sorted((r for r in all_routes() if r.method not in ("WS", "*")), key=_order)
CLOSED = [r for r in ROUTES if not r.is_public and not r.authenticates]


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    """A cluster where roles decide, of one test alone: callers who may change things do."""
    async with hidden_world(postgres, passwords) as made:
        yield made


async def ask(client: Client, world: World, route: Route) -> Answer:
    request = named(world, route)
    body = None if route.method == "GET" else request.body
    try:
        async with asyncio.timeout(STAYS_S):
            return await client(route.method, request.target(), body)
    except TimeoutError:
        return Answer(200, {}, b"it stays")


def text_of(route: Route, answer: Answer) -> str:
    return f"{route.method} {route.path}: {answer.status} {answer.body[:160]!r}"


async def test_every_route_declares_its_callers() -> None:
    undeclared = [
        f"{r.method} {r.path}"
        for r in CLOSED
        if not isinstance(r.access, tuple) and r.access not in (FILTERED, IN_SERVICE, "signed_in")
    ]
    assert undeclared == []
    assert len(CLOSED) > 250


@pytest.mark.parametrize("kind", ["none", "malformed", "expired", "logged out", "agent"])
async def test_no_route_answers_callers_without_a_valid_token(hidden: World, kind: str) -> None:
    admin = hidden.clients["admin"]
    token = {"none": "", "malformed": "not-a-token"}.get(kind, "")
    if kind == "agent":
        token = (await admin("POST", "/api/v1/agents/join-tokens", {})).json()["token"]
    elif kind in ("expired", "logged out"):
        opened = await admin("POST", "/api/v1/tokens", {"userId": 1})
        token = opened.json()["token"]
        column = "expires_at" if kind == "expired" else "revoked_at"
        async with hidden.services[Users]._db.acquire() as conn:
            query = f"UPDATE user_sessions SET {column} = now() - interval '1 minute'"
            await conn.execute(f"{query} WHERE kind = 'access'")
    client = Client(admin.app, token)
    wrong = []
    for route in CLOSED:
        answer = await ask(client, hidden, route)
        if answer.status != 401:
            wrong.append(text_of(route, answer))
    assert wrong == []


async def test_another_tenant_gets_not_found(hidden: World) -> None:
    user = hidden.clients["user"]
    wrong = []
    for route in CLOSED:
        if not needs_of(route):
            continue
        answer = await ask(user, hidden, route)
        if answer.status != 404 or MARK.encode() in answer.body:
            wrong.append(text_of(route, answer))
    assert wrong == []


@pytest.mark.parametrize("role", [VIEWER, EDITOR], ids=["viewer", "editor"])
async def test_roles_open_the_routes_of_their_permissions(fresh: World, role: int) -> None:
    workspace = int(fresh.names["workspace"])
    caller = Caller(user_id=2, username="u", rights=rights_of([Grant(role, workspace)]))
    await give(fresh, role, workspace)
    user = fresh.clients["user"]
    wrong, refused = [], 0
    for route in CLOSED:
        needs = needs_of(route)
        if not needs or any(need.is_optional for need in needs):
            continue  # without the thing it acts in a place that the role does not name
        asked = [(need.action, need.kind) for need in needs if need.kind]
        lacking = not all(can(caller, *part, workspace_id=workspace) for part in asked)
        is_others = not all(
            can(caller, *part, owner_id=1, workspace_id=workspace) for part in asked
        )
        answer = await ask(user, fresh, route)
        if lacking:
            refused += 1
            is_right = answer.status == 403
        else:
            is_right = answer.status not in (401, 500) and (is_others or answer.status != 403)
            is_right = is_right and (HIDES not in answer.body or route.method == "DELETE")
        if not is_right:
            wrong.append(text_of(route, answer))
    assert wrong == []
    assert refused > (60 if role == VIEWER else 3)


async def test_a_task_calls_only_routes_of_tasks_and_only_for_its_own(fresh: World) -> None:
    own = await scene.submitted(fresh)
    task = await as_task(fresh, own["allocation_id"])
    wrong, of_others = [], 0
    for route in CLOSED:
        answer = await ask(task, fresh, route)
        if route.task is None:
            is_right = answer.status == 403
        elif route.task:
            of_others += 1
            is_right = answer.status in (403, 404)
        else:
            is_right = answer.status not in (401, 500)
        if not is_right:
            wrong.append(text_of(route, answer))
    assert wrong == []
    assert of_others > 20


async def test_a_task_calls_the_routes_of_its_own_things(fresh: World) -> None:
    own = await scene.submitted(fresh)
    task = await as_task(fresh, own["allocation_id"])
    mine: dict[str, Any] = {
        **fresh.names,
        "trial": own["trial_id"],
        "experiment": own["experiment_id"],
        "task": own["task_id"],
        "allocation": own["allocation_id"],
        "trial_id": own["trial_id"],
    }
    fresh.names = mine
    refused = []
    for route in CLOSED:
        if route.task:
            answer = await ask(task, fresh, route)
            if answer.status in (401, 403):
                refused.append(text_of(route, answer))
    assert refused == []
