"""Groups, roles and names, as tests of roles ask for them."""

from __future__ import annotations

import json
from typing import Any

from tests.api.client import Answer, Client
from tests.api.hidden import (
    ok,
)

CONFIG = (
    "entrypoint: x\nname: n\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"
)
EVERYTHING = json.dumps(
    {"filterGroup": {"kind": "group", "conjunction": "and", "children": []}, "showArchived": True}
)
SUMMARY = "/api/v1/permissions/summary"
WORKSPACES = "/api/v1/workspaces"


async def group(admin: Client, name: str, *user_ids: int) -> int:
    body = {"name": name, "addUsers": list(user_ids)}
    made = await ok(admin, "POST", "/api/v1/groups", body)
    return int(made["group"]["groupId"])


async def assign(client: Client, path: str = "add", **scope: Any) -> Answer:
    """Give the user a role, or take it."""
    role_id, whom = scope.pop("role"), scope.pop("group", None)
    assignment = {"role": {"roleId": role_id}, **scope}
    if whom is not None:
        body: Any = {"groupRoleAssignments": [{"groupId": whom, "roleAssignment": assignment}]}
    else:
        body = {"userRoleAssignments": [{"userId": 2, "roleAssignment": assignment}]}
    return await client("POST", f"/api/v1/roles/{path}-assignments", body)


async def names(client: Client, path: str, key: str) -> list[str]:
    return [item["name"] for item in (await ok(client, "GET", path))[key]]
