"""`det user-group`, `det rbac` and the members of workspaces against a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.live.conftest import Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live


@pytest.fixture
def crew(person: Person) -> Iterator[str]:
    """A group without users, and nothing of it afterwards."""
    said = person.det("user-group", "create", "crew").out
    assert said.startswith("Created user group crew with ID ")
    yield "crew"
    person.det("user-group", "delete", "crew", "--yes")


@live(
    "user-group create",
    "user-group add-user",
    "user-group remove-user",
    "user-group change-name",
    "user-group describe",
    "user-group list",
    "user-group delete",
)
def test_a_group_lives(person: Person, crew: str) -> None:
    person.det("user-group", "add-user", crew, "admin,determined")
    assert person.det("user-group", "describe", crew, "--json").json()["name"] == crew
    told = person.det("user-group", "describe", crew).out
    assert "determined" in told
    person.det("user-group", "remove-user", crew, "determined")
    assert "determined" not in person.det("user-group", "describe", crew).out
    person.det("user-group", "change-name", crew, "other")
    words = ("user-group", "ls", "--groups-user-belongs-to", "admin", "--json")
    [only] = person.det(*words).json()["groups"]
    assert only["group"]["name"] == "other"
    assert "other" in person.det("user-group", "list", "--limit", 1, "--pages", 1).out
    person.det("user-group", "change-name", "other", crew)
    again = person.det("user-group", "create", crew, "--add-user", "admin", code=1).err
    assert "row already exists" in again
    assert "no user group 'gone'" in person.det("user-group", "describe", "gone", code=1).err
    kept = person.det("user-group", "delete", crew, typed="n\n", code=1).err
    assert "nothing was changed" in kept


@live(
    "rbac assign-role",
    "rbac unassign-role",
    "rbac describe-role",
    "rbac list-roles",
    "rbac list-users-roles",
    "rbac list-groups-roles",
    "rbac my-permissions",
    "workspace list-members",
)
def test_a_role_is_given_shown_and_taken(person: Person, crew: str) -> None:
    person.det("w", "create", "ruled by roles")
    of = ("-w", "ruled by roles")
    said = person.det("rbac", "assign-role", "viewer", "-g", crew, *of).out
    assert said == "Assigned role Viewer in workspace ruled by roles: group crew\n"
    person.det("rbac", "assign-role", "Editor", "-u", "determined", *of)
    assert "Editor" in person.det("rbac", "list-users-roles", "determined").out
    assert person.det("rbac", "list-users-roles", "determined", "--json").json()["roles"]
    assert "ruled by roles" in person.det("rbac", "list-groups-roles", crew).out
    assert person.det("rbac", "list-groups-roles", crew, "--json").json()["roles"]
    told = person.det("rbac", "describe-role", "Viewer").out
    assert "view workspace" in told
    assert "crew" in told
    assert person.det("rbac", "describe-role", "Viewer", "--json").json()["role"]["roleId"] == 4
    members = person.det("w", "list-members", "ruled by roles", "--csv").rows()
    assert [list(member.values()) for member in members] == [
        [crew, "G", "Viewer"],
        ["determined", "U", "Editor"],
    ]
    assert person.det("w", "list-members", "ruled by roles", "--json").json()["groups"]
    assert "determined" in person.det("w", "list-members", "ruled by roles", "--yaml").out
    person.det("rbac", "unassign-role", "Editor", "-u", "determined", *of)
    gone = person.det("rbac", "unassign-role", "Editor", "-u", "determined", *of, code=1).err
    assert "was not found" in gone
    assert "give either" in person.det("rbac", "assign-role", "Viewer", code=1).err
    person.det("w", "delete", "ruled by roles", "--yes")
    assert "ruled" not in person.det("rbac", "list-groups-roles", crew).out


@live("rbac list-roles", "rbac my-permissions")
def test_roles_and_ones_own_permissions_are_listed(person: Person) -> None:
    assert "ClusterAdmin" in person.det("rbac", "list-roles").out
    assert "ClusterAdmin" not in person.det("rbac", "list-roles", "--exclude-global-roles").out
    assert len(person.det("rbac", "list-roles", "--limit", 2, "--json").json()["roles"]) == 9
    assert "there is no role 'Cook'" in person.det("rbac", "describe-role", "Cook", code=1).err
    told = person.det("rbac", "my-permissions").out
    assert told.startswith("Roles have no effect on this cluster")
    assert "create experiment" in told
    assert person.det("rbac", "my-permissions", "--json").json()["assignments"]
