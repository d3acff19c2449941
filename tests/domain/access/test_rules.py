"""Who may do what."""

from __future__ import annotations

import pytest

from determined_master.domain.access.rights import Grant, rights_of
from determined_master.domain.access.roles import VIEWER_ID
from determined_master.domain.access.rules import ADMIN_ONLY, OWNER_ONLY, Caller, can, may
from determined_master.domain.errors import PermissionDenied

ADMIN = Caller(user_id=1, username="admin", is_admin=True)
OWNER = Caller(user_id=2, username="owner")
OTHER = Caller(user_id=3, username="other")


def test_an_admin_may_do_everything() -> None:
    assert all(can(ADMIN, action, kind, owner_id=2) for action, kind in ADMIN_ONLY | OWNER_ONLY)


def test_actions_for_admins_are_refused_to_owners() -> None:
    assert not any(can(OWNER, action, kind, owner_id=2) for action, kind in ADMIN_ONLY)


def test_actions_for_owners_are_refused_to_others_and_without_an_owner() -> None:
    for action, kind in OWNER_ONLY:
        assert can(OWNER, action, kind, owner_id=2)
        assert not can(OTHER, action, kind, owner_id=2)
        assert not can(OTHER, action, kind)


def test_everybody_reads_and_steers_experiments() -> None:
    for action in ("read", "create", "edit", "control"):
        assert can(OTHER, action, "experiment", owner_id=2)


def test_a_deactivated_user_may_do_nothing() -> None:
    gone = Caller(user_id=1, username="admin", is_admin=True, is_active=False)
    assert not can(gone, "read", "experiment")


def test_a_refusal_has_the_given_text() -> None:
    may(OWNER, "edit", "user", owner_id=2)
    with pytest.raises(PermissionDenied, match="only admins"):
        may(OTHER, "edit", "user", owner_id=2, refusal="only admins")


def test_a_refusal_names_the_missing_permission_and_the_place() -> None:
    viewer = Caller(user_id=2, username="cleo", rights=rights_of([Grant(VIEWER_ID, 3)]))
    with pytest.raises(PermissionDenied) as caught:
        may(viewer, "create", "experiment", workspace_id=3)
    assert str(caught.value) == (
        "user does not have permission: access denied: cleo lacks 'create experiment' "
        "in workspace 3"
    )
    with pytest.raises(PermissionDenied, match=r"^user does not have permission$"):
        may(Caller(user_id=2, username="cleo"), "edit", "agent")
