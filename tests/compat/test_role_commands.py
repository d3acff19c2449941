"""`det` 0.38.1 against our master: user groups and roles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.compat.client import Client

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

WORKSPACE = "old roles"


@pytest.fixture(scope="module")
def crew(client: Client) -> Iterator[str]:
    """A group with one user, and a workspace."""
    client.det("workspace", "create", WORKSPACE)
    client.det("user-group", "create", "old crew", "--add-user", "determined")
    yield "old crew"
    client.det("user-group", "delete", "old crew", "--yes")
    client.det("workspace", "delete", WORKSPACE, "--yes")


def test_groups_are_shown_changed_and_listed(client: Client, crew: str) -> None:
    assert "determined" in client.det("user-group", "describe", crew).out
    client.det("user-group", "add-user", crew, "admin")
    client.det("user-group", "remove-user", crew, "determined")
    told = client.det("user-group", "describe", crew, "--json").json()
    assert [user["username"] for user in told["users"]] == ["admin"]
    gone = client.det("user-group", "remove-user", crew, "determined", code=1)
    assert "not found" in gone.err
    client.det("user-group", "change-name", crew, "older crew")
    assert "older crew" in client.det("user-group", "list").out
    client.det("user-group", "change-name", "older crew", crew)


def test_a_role_is_excluded_exactly_when_it_has_a_permission_of_the_cluster(
    client: Client,
) -> None:
    def roles(*words: str) -> list[dict[str, Any]]:
        answer = client.det("rbac", "list-roles", "--json", *words).json()
        return list(answer["roles"])

    of_workspaces = [
        role["name"]
        for role in roles()
        if all(p["scopeTypeMask"]["workspace"] for p in role["permissions"])
    ]
    assert [role["name"] for role in roles("--exclude-global-roles")] == of_workspaces
    assert "Viewer" in of_workspaces


def test_roles_are_given_shown_and_taken(client: Client, crew: str) -> None:
    assert "WorkspaceAdmin" in client.det("rbac", "list-roles").out
    client.det("rbac", "assign-role", "Viewer", "-g", crew, "-w", WORKSPACE)
    client.det("rbac", "assign-role", "Editor", "-u", "determined")
    twice = client.det("rbac", "assign-role", "Editor", "-u", "determined", code=1)
    assert "row already exists" in twice.err
    assert "Editor" in client.det("rbac", "list-users-roles", "determined").out
    assert "Viewer" in client.det("rbac", "list-groups-roles", crew).out
    assert "PERMISSION_TYPE_VIEW_WORKSPACE" in client.det("rbac", "describe-role", "Viewer").out
    assert crew in client.det("workspace", "list-members", WORKSPACE).out
    client.det("rbac", "unassign-role", "Viewer", "-g", crew, "-w", WORKSPACE)
    client.det("rbac", "unassign-role", "Editor", "-u", "determined")
    assert "Editor" not in client.det("rbac", "list-users-roles", "determined").out
    client.det("rbac", "my-permissions")
