"""Findings 7, 8 and N7: code in a task acts with its owner's token, which is no login."""

from __future__ import annotations

import re
from typing import Any

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import PASSWORD
from tests.api.samples import World
from tests.attacks.code_in_task_requests import CLOSED_TO_CODE, HOOK, POLICY, Victim, against
from tests.attacks.tasks import as_code_of

from determined_master.api.table import all_routes
from determined_master.services.access.users import Users

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CONTINUED = "entrypoint: [python3, -c, 'import os; print(os.environ)']\n"


@pytest_asyncio.fixture(loop_scope="module")
async def code_of_admin(world: World) -> Client:
    """Code in an admin's running trial, which another user wrote."""
    names = await scene.submitted(world)
    return await as_code_of(world, names["allocation_id"])


@pytest.mark.parametrize(("method", "path", "body"), CLOSED_TO_CODE)
async def test_code_in_an_admins_task_changes_no_account_and_no_setting(
    code_of_admin: Client, method: str, path: str, body: Any
) -> None:
    answer = await code_of_admin(method, path, body)
    assert answer.status == 403, answer.body
    assert "code in a task" in answer.text


async def test_the_requests_of_code_in_real_tasks_name_routes() -> None:
    """`tests/e2e/test_attacks_in_tasks.py` sends them: a wrong path would harm nobody."""
    routes = [
        (r.method, re.compile(re.sub(r"{[^}]*}", "[^/]+", r.path)))
        for r in all_routes()
        if r.kind != "socket"
    ]
    asked = against(Victim(1, 1, "1.t", "1.t.1"), has_roles=True)
    assert len(asked) > 50
    for method, path, *_ in [*asked, *CLOSED_TO_CODE]:
        plain = path.partition("?")[0]
        assert any(m == method and p.fullmatch(plain) for m, p in routes), (method, path)


async def test_every_route_without_a_declaration_is_closed_to_code_in_an_admins_task(
    code_of_admin: Client,
) -> None:
    closed = [
        r
        for r in all_routes()
        if not (r.in_task or r.is_public or r.authenticates) and r.kind != "socket"
    ]
    assert len(closed) > 100
    for route in closed:
        path = re.sub(r"{[^}]*}", "1", route.path)
        answer = await code_of_admin(route.method, path, None if route.method == "GET" else {})
        assert answer.status == 403, (route.method, path, answer.body)
        assert "code in a task" in answer.text


async def test_nothing_of_an_admins_task_outlives_it_for_others(
    world: World, code_of_admin: Client
) -> None:
    admin = world.clients["admin"]
    before = (await admin("GET", "/api/v1/webhooks")).json()
    await code_of_admin("POST", "/api/v1/webhooks", HOOK)
    await code_of_admin("PUT", "/api/v1/config-policies/global/EXPERIMENT", POLICY)
    await code_of_admin("POST", "/api/v1/templates/trap", {"config": {"entrypoint": "thief"}})
    assert (await admin("GET", "/api/v1/webhooks")).json() == before
    policies = await admin("GET", "/api/v1/config-policies/global/EXPERIMENT")
    assert policies.json() == {"configPolicies": {}}
    assert (await admin("GET", "/api/v1/templates/trap")).status == 404


async def test_pages_with_a_tasks_token_are_those_of_somebody_without_one(
    world: World, code_of_admin: Client
) -> None:
    nobody = Client(world.clients["admin"].app)
    for path in ("/health", "/det/login"):
        page, plain = await code_of_admin("GET", path), await nobody("GET", path)
        assert page.status == plain.status
        assert b"admin" not in page.body
    assert "database" not in (await code_of_admin("GET", "/health")).json()


async def test_code_in_a_task_does_not_revoke_its_owners_access_tokens(world: World) -> None:
    admin = world.clients["admin"]
    made = await admin("POST", "/api/v1/tokens", {"userId": 1, "lifespan": "1h"})
    names = await scene.submitted(world)
    code = await as_code_of(world, names["allocation_id"])
    path = f"/api/v1/tokens/{made.json()['tokenId']}"
    assert (await code("PATCH", path, {"setRevoked": True})).status == 403
    assert (await admin("PATCH", path, {"description": "still mine"})).status == 200


async def test_a_task_still_does_its_own_work_with_that_token(code_of_admin: Client) -> None:
    assert (await code_of_admin("GET", "/api/v1/me")).status == 200
    assert (await code_of_admin("GET", "/api/v1/users/2")).status == 200
    config = {"entrypoint": ["true"], "resources": {"slots": 0}}
    assert (await code_of_admin("POST", "/api/v1/commands", {"config": config})).status == 200


async def test_a_password_is_changed_only_soon_after_a_login_with_the_old_one(
    world: World,
) -> None:
    login = {"username": "determined", "password": PASSWORD}
    anonymous = Client(world.clients["user"].app)
    fresh = Client(
        anonymous.app, (await anonymous("POST", "/api/v1/auth/login", login)).json()["token"]
    )
    assert (await fresh("GET", "/api/v1/me")).status == 200
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute(
            "UPDATE user_sessions SET created_at = created_at - interval '11 minutes'"
        )
    stolen = await fresh("POST", "/api/v1/users/2/password", "Taken-over-1")
    assert stolen.status == 403
    assert "log in again" in stolen.text
    token = (await anonymous("POST", "/api/v1/auth/login", login)).json()["token"]
    changed = await Client(anonymous.app, token)("POST", "/api/v1/users/2/password", PASSWORD)
    assert changed.status == 200
    opened = await anonymous("POST", "/api/v1/auth/login", login)
    world.clients["user"].token = opened.json()["token"]


async def test_an_admin_sets_the_password_of_another_without_a_new_login(world: World) -> None:
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute(
            "UPDATE user_sessions SET created_at = created_at - interval '11 minutes'"
        )
    answer = await world.clients["admin"]("POST", "/api/v1/users/2/password", PASSWORD)
    assert answer.status == 200
    login = {"username": "determined", "password": PASSWORD}
    opened = await world.clients["admin"]("POST", "/api/v1/auth/login", login)
    world.clients["user"].token = opened.json()["token"]


async def test_nobody_continues_anothers_experiment_with_code_of_their_own(world: World) -> None:
    await scene.ended(world)
    experiment_id = world.names["experiment_id"]
    body = {"id": int(experiment_id), "overrideConfig": CONTINUED}
    answer = await world.clients["user"]("POST", "/api/v1/experiments/continue", body)
    assert answer.status == 403, answer.body
    assert "fork it" in answer.text
    plain = {"id": int(experiment_id), "overrideConfig": "{}"}
    again = await world.clients["user"]("POST", "/api/v1/experiments/continue", plain)
    assert again.status == 200, again.body


@pytest.mark.parametrize("kind", ["notebook", "shell"])
async def test_only_its_owner_gets_the_key_of_a_task(world: World, kind: str) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    body = {"config": {"resources": {"slots": 0}}}
    made = (await admin("POST", f"/api/v1/{kind}s", body)).json()[kind]
    for client, owns in ((admin, True), (user, False)):
        seen = (await client("GET", f"/api/v1/{kind}s/{made['id']}")).json()[kind]
        key = seen["privateKey"] if kind == "shell" else "?token=" in seen["serviceAddress"]
        assert bool(key) is owns
        killed = await client("POST", f"/api/v1/{kind}s/{made['id']}/kill", {})
        assert killed.status == 200
