"""Users' activity: the projects that each opened last."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.client import Client
from tests.store.rows import add_project

from determined_master.store.db import Database

VISIT = {"activityType": "ACTIVITY_TYPE_GET", "entityType": "ENTITY_TYPE_PROJECT"}


async def visit(client: Client, project: int, **changes: Any) -> Any:
    return await client(
        "POST", "/api/v1/users/activity", {**VISIT, "entityId": project, **changes}
    )


async def visited(client: Client, query: str = "") -> list[int]:
    answer = await client("GET", f"/api/v1/user/projects/activity{query}")
    assert answer.status == 200, answer.body
    return [project["id"] for project in answer.json()["projects"]]


async def test_the_projects_that_a_user_opened_last_come_first(
    admin: Client, user: Client, pool: Database
) -> None:
    first, second = await add_project(pool, "ONE"), await add_project(pool, "TWO")
    for project in (first, second, 1, first):
        assert (await visit(admin, project)).json() == {}
    assert await visited(admin) == [first, 1, second]
    assert await visited(admin, "?limit=2") == [first, 1]
    assert await visited(user) == []


@pytest.mark.parametrize(
    ("project", "changes", "status", "text"),
    [
        (99, {}, 404, "project '99' not found"),
        (1, {"activityType": "ACTIVITY_TYPE_UNSPECIFIED"}, 400, "activityType"),
        (1, {"entityType": "ENTITY_TYPE_UNSPECIFIED"}, 400, "entityType"),
    ],
)
async def test_other_activity_is_refused(
    user: Client, project: int, changes: dict[str, Any], status: int, text: str
) -> None:
    answer = await visit(user, project, **changes)
    assert (answer.status, text in answer.text) == (status, True)


async def test_a_limit_below_0_is_refused(user: Client) -> None:
    answer = await user("GET", "/api/v1/user/projects/activity?limit=-1")
    assert (answer.status, "limit is -1" in answer.text) == (400, True)


async def test_a_visit_ends_with_its_project(admin: Client, pool: Database) -> None:
    project = await add_project(pool, "ONE")
    await visit(admin, project)
    assert (await admin("DELETE", f"/api/v1/projects/{project}")).status == 200
    assert await visited(admin) == []
