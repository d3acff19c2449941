"""What roles give: sums of permissions, never more than was given, never outside of where."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.access import rules as access
from determined_master.domain.access.needs import NEEDS
from determined_master.domain.access.permissions import EVERYTHING, P, Permission
from determined_master.domain.access.rights import Grant, Rights, rights_of
from determined_master.domain.access.roles import (
    CLUSTER_ADMIN_ID,
    EDITOR_ID,
    ROLES,
    VIEWER_ID,
    WORKSPACE_ADMIN_ID,
    by_name,
)
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import NotFound, PermissionDenied
from determined_wire.rest.types.rbac import PermissionType

GRANTS = st.builds(Grant, st.sampled_from(sorted(ROLES)), st.integers(0, 4))
PERMISSIONS = st.sampled_from(sorted(EVERYTHING))
WORKSPACES = st.integers(1, 5)


def caller(*grants: Grant) -> Caller:
    return Caller(user_id=7, username="u", rights=rights_of(grants))


def test_permissions_are_those_of_the_public_api() -> None:
    wire = {f"PERMISSION_TYPE_{p.name}": int(p) for p in Permission}
    assert wire == {t.value: t.number for t in PermissionType if t.number}


def test_the_known_roles_have_the_numbers_that_clients_know() -> None:
    assert {ROLES[i].name for i in (1, 2, 5)} == {"ClusterAdmin", "WorkspaceAdmin", "Editor"}
    assert [role.name for role in by_name()][:2] == ["ClusterAdmin", "Editor"]
    assert ROLES[CLUSTER_ADMIN_ID] not in by_name(with_cluster=False)


def test_each_role_holds_what_the_one_below_it_holds() -> None:
    order = [VIEWER_ID, EDITOR_ID, WORKSPACE_ADMIN_ID, CLUSTER_ADMIN_ID]
    for lower, higher in itertools.pairwise(order):
        assert ROLES[lower].permissions < ROLES[higher].permissions


@given(st.lists(GRANTS), PERMISSIONS, WORKSPACES)
def test_a_permission_is_held_where_a_role_with_it_was_given_and_nowhere_else(
    grants: list[Grant], permission: Permission, workspace_id: int
) -> None:
    expected = any(
        permission in ROLES[g.role_id].permissions
        and (
            g.workspace_id == 0
            or (g.workspace_id == workspace_id and not permission.is_of_cluster)
        )
        for g in grants
    )
    assert rights_of(grants).holds(permission, workspace_id) is expected


@given(st.lists(GRANTS), GRANTS, PERMISSIONS, WORKSPACES)
def test_one_role_more_takes_nothing_away(
    grants: list[Grant], more: Grant, permission: Permission, workspace_id: int
) -> None:
    if rights_of(grants).holds(permission, workspace_id):
        assert rights_of([*grants, more]).holds(permission, workspace_id)


@given(st.lists(GRANTS), PERMISSIONS)
def test_the_workspaces_of_a_permission_are_those_in_which_it_is_held(
    grants: list[Grant], permission: Permission
) -> None:
    rights = rights_of(grants)
    where = rights.workspaces(permission)
    for workspace_id in range(1, 6):
        assert rights.holds(permission, workspace_id) is (where is None or workspace_id in where)
    assert rights.holds_anywhere(permission) is (where is None or bool(where))


@given(st.lists(GRANTS))
def test_allowed_actions_in_a_workspace_include_seeing_it(grants: list[Grant]) -> None:
    """Else a forbidden thing would be told apart from a missing one."""
    user = caller(*[g for g in grants if g.role_id != 6])
    for kind in ("workspace", "project", "experiment", "model", "template"):
        for action in ("edit", "control", "delete"):
            needed = NEEDS.get((action, kind))
            for workspace_id in range(1, 6):
                if needed and access.can(user, action, kind, workspace_id=workspace_id):  # type: ignore[arg-type]
                    assert access.can(user, "read", kind, workspace_id=workspace_id)  # type: ignore[arg-type]


def test_without_a_role_nothing_of_any_workspace_is_seen_or_done() -> None:
    for action, kind in NEEDS:
        if NEEDS[action, kind]:
            assert not access.can(caller(), action, kind, workspace_id=1)  # type: ignore[arg-type]
    assert access.visible(caller(), "experiment") == []


def test_a_viewer_sees_and_does_not_change() -> None:
    viewer = caller(Grant(VIEWER_ID, 3))
    access.may_see(viewer, "experiment", 3, "gone")
    with pytest.raises(PermissionDenied):
        access.may(viewer, "control", "experiment", workspace_id=3)
    with pytest.raises(NotFound, match="gone"):
        access.may_see(viewer, "experiment", 4, "gone")
    assert access.visible(viewer, "experiment") == [3]


def test_a_role_of_the_whole_cluster_shows_all_workspaces() -> None:
    assert access.visible(caller(Grant(EDITOR_ID)), "model") is None
    assert access.can(caller(Grant(EDITOR_ID)), "control", "experiment", workspace_id=99)


def test_a_role_in_a_workspace_gives_nothing_of_the_cluster() -> None:
    admin = caller(Grant(WORKSPACE_ADMIN_ID, 3))
    assert access.can(admin, "assign", "role", workspace_id=3)
    assert not access.can(admin, "assign", "role", workspace_id=access.NOWHERE)
    assert not access.can(admin, "create", "user")
    assert not access.can(admin, "configure", "cluster")


def test_an_unknown_role_gives_nothing() -> None:
    assert rights_of([Grant(999), Grant(999, 3)]) == Rights()


def test_things_in_no_workspace_are_seen_by_admins_only() -> None:
    with pytest.raises(NotFound):
        access.may_see(caller(Grant(VIEWER_ID, 3)), "task", None, "gone")
    access.may_see(Caller(user_id=1, username="a", is_admin=True), "task", None, "gone")


def test_everybody_changes_their_own_user_and_no_other() -> None:
    assert access.can(caller(), "edit", "user", owner_id=7)
    assert not access.can(caller(), "edit", "user", owner_id=8)
    assert not access.can(caller(), "configure", "user", owner_id=7)
    assert P.ADMINISTRATE_USER in ROLES[CLUSTER_ADMIN_ID].permissions


class Owned:
    """Somebody else's thing."""

    user_id = 8

    def __init__(self, workspace_id: int | None) -> None:
        self.workspace_id = workspace_id


@pytest.mark.parametrize("nowhere", [None, 0])
def test_things_in_no_workspace_are_controlled_with_the_clusters_permission(
    nowhere: int | None,
) -> None:
    editor, everywhere = caller(Grant(EDITOR_ID, 3)), caller(Grant(EDITOR_ID))
    assert access.can_control(editor, "task", Owned(3))
    assert not access.can_control(editor, "task", Owned(4))
    assert access.can_control(everywhere, "task", Owned(nowhere))
    with pytest.raises(PermissionDenied):
        access.may_control(editor, "task", Owned(nowhere))
