"""N11: a user without a role fills the database with what each user may store for himself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.api.client import Client
from tests.api.hidden import MARK
from tests.api.samples import World

from determined_master.domain import allowances
from determined_master.domain.allowances import Allowance
from determined_master.services.access import access_tokens, users
from determined_master.services.access.users import Users
from determined_master.services.configs import templates
from determined_master.services.models import service as models
from determined_master.services.workspaces import links, pages, projects

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
LINKS = "/api/ui/v1/links"
SETTINGS = "/api/v1/users/setting"
FEW = Allowance("things", 3, 3000)


async def stored(world: World, table: str, column: str, user: int = 2) -> tuple[int, int]:
    owner = "user_id" if table == "user_settings" else "owner_id"
    query = f"""
        SELECT count(*), coalesce(sum(octet_length({column}::text)), 0)::bigint FROM {table}
         WHERE {owner} = $1
    """
    async with world.services[Users]._db.acquire() as conn:
        row = await conn.fetchrow(query, user)
    return row[0], row[1]


async def many_settings(user: Client, count: int, size: int = 1, prefix: str = "k") -> Any:
    value = json.dumps("x" * size)
    items = [{"key": f"{prefix}{n}", "storagePath": "p", "value": value} for n in range(count)]
    return await user("POST", SETTINGS, {"settings": items})


async def test_a_user_without_a_role_has_so_many_links_and_no_more(
    hidden: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = hidden.clients["user"]
    monkeypatch.setattr(links, "LINKS", FEW)
    ids = []
    for n in range(5):
        answer = await user("POST", LINKS, {"state": {"n": n}})
        assert answer.status == 200, answer.text
        ids.append(answer.json()["id"])
    assert [(await user("GET", f"{LINKS}/{i}")).status for i in ids] == [404, 404, 200, 200, 200]
    for n in range(5):
        assert (await user("POST", LINKS, {"state": {"n": n, "x": "y" * 1000}})).status == 200
    count, size = await stored(hidden, "ui_links", "state")
    assert (count, size <= FEW.size_bytes) == (2, True)


async def test_a_user_without_a_role_has_so_many_settings_and_no_more(
    hidden: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = hidden.clients["user"]
    monkeypatch.setattr(users, "SETTINGS", replace(FEW, things="settings"))
    for refused in (
        await many_settings(user, 4),
        await many_settings(user, 3, 1000),
        await many_settings(user, 1, 4000),
    ):
        assert refused.status == 429
        assert "settings with" in refused.text
        assert "at most 3 with 3000 bytes together, delete some" in refused.text
        assert await stored(hidden, "user_settings", "value") == (0, 0)
    assert (await many_settings(user, 3)).status == 200
    assert (await many_settings(user, 3, 50)).status == 200, "they may be changed"
    assert (await many_settings(user, 1, prefix="other")).status == 429
    gone = {"settings": [{"key": "k0", "storagePath": "p"}]}
    assert (await user("POST", SETTINGS, gone)).status == 200
    assert (await many_settings(user, 1, prefix="other")).status == 200


async def test_one_request_stores_no_more_settings_than_a_user_may_have(hidden: World) -> None:
    refused = await many_settings(hidden.clients["user"], 1001)
    assert refused.status == 400
    assert "the field settings has 1001 values" in refused.text


@pytest.mark.parametrize("kind", ["view", "board"])
async def test_a_user_has_so_many_pages_in_all_projects_together(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    user = world.clients["user"]
    monkeypatch.setattr(pages, "PAGES", Allowance("views and boards", 100, 3000))
    field = {"view": {"state": {"x": "y" * 2000}}, "board": {"text": "y" * 2000}}[kind]
    path = f"/api/ui/v1/projects/1/{kind}s"
    body = {"name": f"first {kind}", "scope": "private", **field}
    made = await user("POST", path, body)
    assert made.status == 200, made.text
    refused = await user("POST", path, {**body, "name": "second"})
    assert refused.status == 429
    assert "at most 100 with 3000 bytes together" in refused.text
    page = made.json()[kind]
    change = {"version": page["version"], **json.loads(json.dumps(field).replace("y", "yy"))}
    refused = await user("PATCH", f"/api/ui/v1/{kind}s/{page['id']}", change)
    assert refused.status == 429
    assert (await user("DELETE", f"/api/ui/v1/{kind}s/{page['id']}")).status == 200


async def test_a_user_has_so_many_tokens_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = world.clients["admin"]
    monkeypatch.setattr(access_tokens, "TOKENS", replace(FEW, things="valid access tokens"))
    made = [await admin("POST", "/api/v1/tokens", {"userId": 2}) for _ in range(4)]
    assert [answer.status for answer in made] == [200, 200, 200, 429]
    path = f"/api/v1/tokens/{made[0].json()['tokenId']}"
    assert (await admin("PATCH", path, {"setRevoked": True})).status == 200
    long = {"userId": 2, "description": "x" * 4000}
    assert (await admin("POST", "/api/v1/tokens", long)).status == 429
    assert (await admin("POST", "/api/v1/tokens", {"userId": 2})).status == 200


async def test_a_project_has_so_many_notes_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = world.clients["user"]
    monkeypatch.setattr(projects, "NOTES", replace(FEW, things="notes in a project"))
    made = await user("POST", "/api/v1/workspaces", {"name": f"notes {MARK}"})
    path = f"/api/v1/workspaces/{made.json()['workspace']['id']}/projects"
    project = (await user("POST", path, {"name": "p"})).json()["project"]["id"]
    path = f"/api/v1/projects/{project}/notes"
    notes = [{"name": f"n{n}", "contents": "x"} for n in range(4)]
    statuses = [(await user("POST", path, note)).status for note in notes]
    assert statuses == [200, 200, 200, 429]
    assert (await user("PUT", path, {"notes": notes})).status == 429
    assert (
        await user("PUT", path, {"notes": [{"name": "n", "contents": "x" * 3000}]})
    ).status == 429
    assert (await user("PUT", path, {"notes": notes[:2]})).status == 200


async def test_a_user_has_so_many_templates_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = world.clients["user"]
    monkeypatch.setattr(templates, "TEMPLATES", replace(FEW, things="templates"))
    body = {"config": {"description": "x"}, "workspaceId": 1}
    made = [await user("POST", f"/api/v1/templates/mine{n}", body) for n in range(4)]
    assert [answer.status for answer in made] == [200, 200, 200, 429]
    assert "at most 3 with 3000 bytes together" in made[-1].text
    assert (await user("PUT", "/api/v1/templates/mine3", body)).status == 429
    large = {"description": "x" * 3000}
    assert (await user("PATCH", "/api/v1/templates/mine0", large)).status == 429
    assert (await user("DELETE", "/api/v1/templates/mine0")).status == 200
    assert (await user("PUT", "/api/v1/templates/mine3", body)).status == 200


async def test_a_user_has_so_many_models_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = world.clients["user"]
    monkeypatch.setattr(models, "MODELS", replace(FEW, things="registered models"))
    made = [await user("POST", "/api/v1/models", {"name": f"mine{n}"}) for n in range(4)]
    assert [answer.status for answer in made] == [200, 200, 200, 429]
    assert (await user("GET", "/api/v1/models/mine3")).status == 404
    large = {"metadata": {"x": "y" * 3000}}
    assert (await user("PATCH", "/api/v1/models/mine0", large)).status == 429
    assert (await user("DELETE", "/api/v1/models/mine0")).status == 200
    assert (await user("POST", "/api/v1/models", {"name": "mine3"})).status == 200


@pytest.mark.parametrize("field", ["notes", "description"])
async def test_the_notes_of_an_experiment_have_a_bound(world: World, field: str) -> None:
    body = {field: "x" * 65_537}
    refused = await world.clients["user"]("PATCH", "/api/v1/experiments/1", body)
    assert refused.status == 400
    assert f"{field} has 65537 characters, at most 65536" in refused.text


async def test_no_allowance_is_more_than_some_megabytes() -> None:
    assert all(a.size_bytes <= 16 * 1024 * 1024 for a in allowances.ALLOWANCES)
