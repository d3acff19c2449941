"""What users changed in the cluster itself, in one list."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import CLUSTER_ADMIN, give, hidden_world, ok

from determined_master import clock
from determined_master.api.table import all_routes
from determined_master.services.access.passwords import Passwords
from determined_master.services.history.audit import MAX_NAMED
from determined_master.store.db import Address, Database
from determined_master.sweeps.maintenance import sweep


async def entries_of(client: Client, query: str = "") -> list[dict[str, Any]]:
    page = await ok(client, "GET", f"/api/ui/v1/audit?{query}")
    return list(page["entries"])


async def test_changes_of_the_cluster_are_stored_with_who_made_them(admin: Client) -> None:
    made = await ok(admin, "POST", "/api/v1/workspaces", {"name": "lab"})
    number = made["workspace"]["id"]
    await ok(admin, "POST", f"/api/v1/workspaces/{number}/archive", {})
    found = await entries_of(admin)
    assert [(one["username"], one["operation"], one["path"]) for one in found] == [
        ("admin", "archive_workspace", f"/api/v1/workspaces/{number}/archive"),
        ("admin", "post_workspace", "/api/v1/workspaces"),
    ]
    assert (found[0]["method"], found[0]["userId"]) == ("POST", 1)


async def test_refusals_reads_and_private_settings_are_no_entries(
    admin: Client, user: Client
) -> None:
    assert (await admin("DELETE", "/api/v1/workspaces/999")).status == 404
    assert (await user("POST", "/api/v1/users", {"user": {"username": "x"}})).status == 403
    await ok(user, "POST", "/api/v1/groups/search", {"limit": 1})
    setting = {"settings": [{"key": "k", "value": "1", "storagePath": "p"}]}
    await ok(user, "POST", "/api/v1/users/setting", setting)
    assert await entries_of(admin) == []


async def test_the_old_path_answers_with_its_old_field(admin: Client) -> None:
    await ok(admin, "POST", "/api/v1/workspaces", {"name": "lab"})
    page = await ok(admin, "GET", "/api/ui/v1/acts?limit=1")
    assert page["acts"] == await entries_of(admin, "limit=1")


async def test_bodies_are_not_stored(admin: Client, pool: Database) -> None:
    await ok(admin, "POST", "/api/v1/users/2/password", "Secret-12345")
    (row,) = await pool.fetch("SELECT a::text AS text FROM user_acts a")
    assert "set_user_password" in row["text"]
    assert "Secret" not in row["text"]


async def test_the_audit_log_is_read_in_pages_and_narrowed(admin: Client, user: Client) -> None:
    for number in range(5):
        await ok(admin, "POST", "/api/v1/workspaces", {"name": f"w{number}"})
    await ok(user, "PATCH", "/api/v1/users/2", {"displayName": "Det"})
    page = await ok(admin, "GET", "/api/ui/v1/audit?limit=4")
    rest = await ok(admin, "GET", f"/api/ui/v1/audit?limit=4&before={page['next']}")
    assert (len(page["entries"]), len(rest["entries"]), rest["next"]) == (4, 2, "0")
    assert [one["operation"] for one in await entries_of(admin, "userId=2")] == ["patch_user"]
    since = (clock.now() + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    assert await entries_of(admin, f"since={since}") == []
    answer = await admin("GET", "/api/ui/v1/audit?limit=1001")
    assert (answer.status, "limit is 1001" in answer.text) == (400, True)


async def test_only_those_who_configure_the_cluster_see_the_audit_log(user: Client) -> None:
    assert (await user("GET", "/api/ui/v1/audit")).status == 403


@pytest.mark.slow
async def test_with_roles_a_cluster_admin_sees_the_audit_log(
    postgres: Address, passwords: Passwords
) -> None:
    async with hidden_world(postgres, passwords) as world:
        user = world.clients["user"]
        assert (await user("GET", "/api/ui/v1/audit")).status == 403
        await give(world, CLUSTER_ADMIN, None)
        assert {one["operation"] for one in await entries_of(user)} >= {
            "assign_roles",
            "post_workspace",
        }
        [assigned] = [e for e in await entries_of(user) if e["operation"] == "assign_roles"]
        assert assigned["details"] == "determined (2)"


async def test_old_entries_are_deleted(admin: Client, pool: Database) -> None:
    await ok(admin, "POST", "/api/v1/workspaces", {"name": "lab"})
    await sweep(pool)
    assert len(await entries_of(admin)) == 1
    await pool.execute("UPDATE user_acts SET at = now() - interval '401 days'")
    await sweep(pool)
    assert await entries_of(admin) == []


def test_no_audited_route_is_called_by_tasks_or_reads() -> None:
    audited = [route for route in all_routes() if route.is_audited]
    assert {"post_user", "assign_roles", "patch_master_config"} <= {r.name for r in audited}
    assert [r.name for r in audited if r.name.startswith(("get_", "list_", "search_"))] == []
    assert [r.name for r in audited if r.task is not None] == []


async def test_a_change_of_many_users_names_the_first_and_the_number_of_others(
    admin: Client,
) -> None:
    ids = []
    for number in range(MAX_NAMED + 2):
        user = {"user": {"username": f"u{number}", "active": True}, "password": "Secret-1234"}
        ids.append((await ok(admin, "POST", "/api/v1/users", user))["user"]["id"])
    body = {"userIds": [*ids, ids[0], 9999], "activate": False}
    await ok(admin, "PATCH", "/api/v1/users", body)
    await ok(admin, "PATCH", "/api/v1/users", {"userIds": ids[:2], "activate": True})
    second, first = (await entries_of(admin, "limit=2"))[:2]
    named = ", ".join(f"u{n} ({id})" for n, id in enumerate(ids[:MAX_NAMED]))
    assert first["details"] == f"deactivated {named} and 2 more"
    assert second["details"] == f"activated u0 ({ids[0]}), u1 ({ids[1]})"
    assert (first["operation"], first["path"]) == ("patch_users", "/api/v1/users")
