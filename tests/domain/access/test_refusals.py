"""What is refused to whom, with which words, and where a role does not reach."""

from __future__ import annotations

import pytest

from determined_master.domain.access import rules as access
from determined_master.domain.access.permissions import P
from determined_master.domain.access.rights import Grant, rights_of
from determined_master.domain.access.roles import (
    CLUSTER_ADMIN_ID,
    EDITOR_ID,
    ROLES,
    VIEWER_ID,
    WORKSPACE_ADMIN_ID,
    by_name,
)
from determined_master.domain.access.rules import (
    CLOSED_TO_TASKS,
    REFUSAL,
    REFUSAL_IN_TASK,
    Caller,
    can,
    may,
    may_control,
)
from determined_master.domain.errors import PermissionDenied

OWN, OTHERS = 7, 8
PROJECT_RESTRICTED_ID, REGISTRY_VIEWER_ID, TOKEN_CREATOR_ID = 8, 6, 9


class Thing:
    """A task in a workspace."""

    def __init__(self, user_id: int, workspace_id: int | None) -> None:
        self.user_id = user_id
        self.workspace_id = workspace_id


def caller(*grants: Grant) -> Caller:
    return Caller(user_id=OWN, username="ada", rights=rights_of(grants))


def refusal(call: object, *arguments: object, **named: object) -> str:
    with pytest.raises(PermissionDenied) as caught:
        call(*arguments, **named)  # type: ignore[operator]
    return str(caught.value)


@pytest.mark.parametrize("is_admin", [True, False])
def test_code_in_a_task_changes_no_accounts_and_no_settings_even_of_an_admin(
    is_admin: bool,
) -> None:
    task = Caller(user_id=OWN, username="ada", is_admin=is_admin, is_task_session=True)
    for action, thing in CLOSED_TO_TASKS:
        assert not can(task, action, thing, owner_id=OWN)
        assert refusal(may, task, action, thing, owner_id=OWN) == REFUSAL_IN_TASK


def test_code_in_a_task_does_what_else_its_user_may() -> None:
    task = Caller(user_id=OWN, username="ada", is_task_session=True)
    may(task, "control", "experiment", owner_id=OTHERS)
    may(task, "delete", "experiment", owner_id=OWN)
    assert refusal(may, task, "delete", "experiment", owner_id=OTHERS) == REFUSAL


def test_a_permission_counts_in_the_workspace_of_the_thing_alone() -> None:
    editor = caller(Grant(EDITOR_ID, 3))
    may(editor, "control", "experiment", workspace_id=3)
    assert refusal(may, editor, "control", "experiment", workspace_id=4) == (
        f"{REFUSAL}: access denied: ada lacks 'update experiment' in workspace 4"
    )


def test_a_refusal_names_all_permissions_of_which_one_would_do() -> None:
    assert refusal(may, caller(), "control", "task", workspace_id=2) == (
        f"{REFUSAL}: access denied: ada lacks 'update experiment' or 'update nsc' in workspace 2"
    )


def test_a_refusal_outside_of_workspaces_names_no_place() -> None:
    assert refusal(may, caller(), "create", "workspace") == (
        f"{REFUSAL}: access denied: ada lacks 'create workspace'"
    )


def test_an_action_of_no_role_is_refused_without_a_permission() -> None:
    admin_of_all = caller(Grant(CLUSTER_ADMIN_ID))
    assert not can(admin_of_all, "report", "model", workspace_id=3)
    assert refusal(may, admin_of_all, "report", "model", workspace_id=3) == REFUSAL


def test_a_refused_control_names_the_permission_and_the_workspace_of_the_thing() -> None:
    viewer = caller(Grant(VIEWER_ID, 3))
    assert refusal(may_control, viewer, "experiment", Thing(OWN, 3)) == (
        f"{REFUSAL}: access denied: ada lacks 'update experiment' in workspace 3"
    )
    may_control(caller(Grant(EDITOR_ID, 3)), "experiment", Thing(OTHERS, 3))
    # The kind decides: an editor controls tasks, and no queue.
    assert refusal(may_control, caller(Grant(VIEWER_ID, 3)), "task", Thing(OWN, 3)).endswith(
        "lacks 'update experiment' or 'update nsc' in workspace 3"
    )


def test_only_the_owner_gets_the_keys_of_a_running_task() -> None:
    admin = Caller(user_id=OWN, username="ada", is_admin=True)
    assert access.is_owner(admin, Thing(OWN, 3))
    assert not access.is_owner(admin, Thing(OTHERS, 3))


def test_deleting_a_model_of_another_user_needs_another_permission() -> None:
    editor, admin = caller(Grant(EDITOR_ID, 3)), caller(Grant(WORKSPACE_ADMIN_ID, 3))
    assert can(editor, "delete", "model", owner_id=OWN, workspace_id=3)
    assert can(editor, "delete", "model", workspace_id=3)
    assert not can(editor, "delete", "model", owner_id=OTHERS, workspace_id=3)
    assert can(admin, "delete", "model", owner_id=OTHERS, workspace_id=3)
    assert can(editor, "edit", "model", owner_id=OTHERS, workspace_id=3)


def test_a_token_creator_creates_tokens_for_oneself_alone() -> None:
    creator = caller(Grant(TOKEN_CREATOR_ID))
    assert can(creator, "create", "token", owner_id=OWN)
    assert not can(creator, "create", "token", owner_id=OTHERS)


def test_without_the_workspace_reading_is_left_to_the_filter_of_the_list() -> None:
    assert can(caller(), "read", "experiment")
    assert not can(caller(), "read", "log")
    assert can(caller(Grant(CLUSTER_ADMIN_ID)), "read", "log")


def test_without_the_workspace_a_change_needs_the_permission_somewhere() -> None:
    assert not can(caller(), "create", "experiment")
    assert not can(caller(Grant(VIEWER_ID, 3)), "create", "experiment")
    assert can(caller(Grant(EDITOR_ID, 3)), "create", "experiment")
    assert not can(caller(Grant(EDITOR_ID, 3)), "configure", "cluster")


def test_a_list_shows_the_workspaces_of_every_permission_that_is_enough() -> None:
    """A task is seen with the permission for tasks or with that for experiments."""
    user = caller(Grant(VIEWER_ID, 5), Grant(EDITOR_ID, 3), Grant(REGISTRY_VIEWER_ID, 9))
    assert access.visible(user, "task") == [3, 5]
    assert access.visible(user, "model") == [3, 5, 9]


def test_a_list_is_not_filtered_for_admins_and_without_roles() -> None:
    admin = Caller(user_id=OWN, username="a", is_admin=True, rights=rights_of([]))
    assert access.visible(admin, "experiment") is None
    assert access.visible(Caller(user_id=OWN, username="a"), "experiment") is None


def test_nobody_sees_a_kind_that_no_permission_opens() -> None:
    """Actions that the table does not list are open to admins alone."""
    assert access.visible(caller(Grant(CLUSTER_ADMIN_ID)), "namespace") == []


def test_roles_of_one_user_in_one_workspace_add_up() -> None:
    rights = rights_of([Grant(REGISTRY_VIEWER_ID, 3), Grant(VIEWER_ID, 3)])
    assert rights.holds(P.VIEW_MODEL_REGISTRY, 3)
    assert rights.holds(P.VIEW_EXPERIMENT_METADATA, 3)
    rights = rights_of([Grant(VIEWER_ID, 3), Grant(REGISTRY_VIEWER_ID, 3)])
    assert rights.holds(P.VIEW_EXPERIMENT_METADATA, 3)


def test_an_unknown_role_hides_none_of_the_others() -> None:
    assert rights_of([Grant(999), Grant(VIEWER_ID, 3)]) == rights_of([Grant(VIEWER_ID, 3)])


def test_roles_with_permissions_of_the_cluster_are_given_in_the_whole_cluster_only() -> None:
    whole = {"ClusterAdmin", "TokenCreator", "WorkspaceCreator"}
    assert {role.name for role in ROLES.values() if role.is_of_cluster} == whole
    names = [role.name for role in by_name(with_cluster=False)]
    assert names == sorted(role.name for role in ROLES.values() if role.name not in whole)


def test_a_role_is_given_in_a_workspace_exactly_when_all_that_it_shows_can_be_held_there() -> None:
    for role in ROLES.values():
        shown_of_cluster = [p for p in role.shown_permissions if p.is_of_cluster]
        assert role.is_of_cluster == bool(shown_of_cluster), (role.name, shown_of_cluster)


def test_a_role_that_shows_policies_of_workspaces_shows_those_of_the_cluster() -> None:
    viewer, creator = ROLES[VIEWER_ID], ROLES[TOKEN_CREATOR_ID]
    assert viewer.shown_permissions - viewer.permissions == {P.VIEW_GLOBAL_CONFIG_POLICIES}
    assert creator.shown_permissions == creator.permissions


def test_the_restricted_editors_lack_what_their_names_say() -> None:
    editor = ROLES[EDITOR_ID].permissions
    assert editor - ROLES[7].permissions == {P.CREATE_NSC, P.UPDATE_NSC}
    assert editor - ROLES[PROJECT_RESTRICTED_ID].permissions == {
        P.CREATE_PROJECT,
        P.UPDATE_PROJECT,
        P.DELETE_PROJECT,
    }


def test_a_permission_has_a_title_for_people() -> None:
    assert P.CREATE_NSC.title == "create nsc"
