"""Access rules. Every service function checks them before it acts.

An admin may do everything. Without roles (`security.authz.type: basic`) an owner may do everything
to their own things, and other users may do what an open cluster allows to all. With roles (`rbac`)
a caller carries `rights`, and everything in a workspace needs a permission there.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from determined_master.domain.access.needs import NEEDS, NEEDS_OF_OTHERS, NOBODY_SPECIAL, Needed
from determined_master.domain.access.rights import Rights
from determined_master.domain.errors import NotFound, PermissionDenied, RoleMissing

Action = Literal["read", "create", "edit", "control", "delete", "report", "configure", "assign"]
ThingKind = Literal[
    "cluster",
    "agent",
    "user",
    "group",
    "role",
    "token",
    "workspace",
    "project",
    "experiment",
    "trial",
    "checkpoint",
    "model",
    "template",
    "webhook",
    "task",
    "allocation",
    "log",
    "queue",
    "pool",
    "namespace",
    "quota",
    "usage",
]

ADMIN_ONLY: frozenset[tuple[Action, ThingKind]] = frozenset(
    {
        ("configure", "cluster"),
        ("edit", "agent"),
        ("edit", "pool"),
        ("edit", "namespace"),
        ("edit", "quota"),
        ("create", "user"),
        ("configure", "user"),  # activate, make admin, rename: users cannot do these to themselves
        ("read", "token"),
        ("create", "token"),
        ("edit", "token"),
        ("edit", "group"),
        ("assign", "role"),
        ("assign", "workspace"),  # links a user of the agents' machines to its tasks
        ("configure", "queue"),  # in a strict namespace
        ("delete", "log"),
    }
)
OWNER_ONLY: frozenset[tuple[Action, ThingKind]] = frozenset(
    {
        ("edit", "user"),
        ("edit", "workspace"),
        ("delete", "workspace"),
        ("edit", "project"),
        ("delete", "project"),
        ("delete", "experiment"),
        ("delete", "model"),
        ("edit", "template"),
        ("delete", "template"),
        ("report", "allocation"),  # its own task may, too
        ("report", "log"),  # lines can match log policies, which end and move the task
        ("edit", "webhook"),  # the owner of its workspace; those of all workspaces: admins
    }
)
CLOSED_TO_TASKS: frozenset[tuple[Action, ThingKind]] = ADMIN_ONLY | {("edit", "user")}
"""Actions that code in a task cannot take with its user's token."""
REFUSAL = "user does not have permission"
REFUSAL_IN_TASK = (
    "code in a task may not change users, passwords, tokens, roles or settings of the cluster: "
    "log in outside of the task to do that"
)
NOWHERE = 0
"""No workspace has this id."""


class TaskScope(msgspec.Struct, frozen=True):
    task_id: str
    allocation_id: str
    trial_id: int | None = None
    experiment_id: int | None = None


class Caller(msgspec.Struct, frozen=True):
    """The sender of a request. A task's token acts for the task's owner, within its scope."""

    user_id: int
    username: str
    is_admin: bool = False
    is_active: bool = True
    session_id: int | None = None
    is_task_session: bool = False
    """Whether code in a task sent this with the token of the task's owner."""
    scope: TaskScope | None = None
    rights: Rights | None = None
    """The rights that the caller's roles give. None without roles, and for a task's token, which
    is limited to its task's routes."""


class Owned(Protocol):
    """A thing with an owner, in a workspace or in none."""

    @property
    def user_id(self) -> int: ...

    @property
    def workspace_id(self) -> int | None: ...


def can(
    caller: Caller,
    action: Action,
    thing: ThingKind,
    *,
    owner_id: int | None = None,
    workspace_id: int | None = None,
) -> bool:
    """Whether the caller may do this to a thing of that kind, which `owner_id` owns.

    With roles, a thing in a workspace needs a permission in that workspace. A use case that does
    not know the workspace yet omits it: then the filter of its list or the API's guard checks
    reading, and for other actions the permission must be held in some workspace.
    """
    if not caller.is_active or is_closed_to(caller, action, thing):
        return False
    if caller.is_admin:
        return True
    if caller.rights is not None:
        return _can_by_roles(caller, caller.rights, action, thing, owner_id, workspace_id)
    if (action, thing) in ADMIN_ONLY:
        return False
    return (action, thing) not in OWNER_ONLY or owner_id == caller.user_id


def may(
    caller: Caller,
    action: Action,
    thing: ThingKind,
    *,
    owner_id: int | None = None,
    workspace_id: int | None = None,
    refusal: str = REFUSAL,
) -> None:
    """Check that the caller may do this.

    Raises:
        PermissionDenied: with `refusal` as its text; with roles the default one names the
            permission that is missing, and where.
    """
    if is_closed_to(caller, action, thing):
        raise PermissionDenied(REFUSAL_IN_TASK)
    if not can(caller, action, thing, owner_id=owner_id, workspace_id=workspace_id):
        if refusal == REFUSAL:
            raise refusal_of(caller, action, thing, workspace_id)
        raise PermissionDenied(refusal)


def refusal_of(
    caller: Caller, action: Action, thing: ThingKind, workspace_id: int | None
) -> PermissionDenied:
    """The default refusal; with roles, what a role would have to give.

    Scripts of 0.38.1 match "access denied", which its refusals have where roles decide.
    """
    needed = NEEDS.get((action, thing))
    if caller.rights is None or not needed:
        return PermissionDenied(REFUSAL)
    names = " or ".join(sorted(f"'{p.name.lower().replace('_', ' ')}'" for p in needed))
    where = f" in workspace {workspace_id}" if workspace_id else ""
    text = f"{REFUSAL}: access denied: {caller.username} lacks {names}{where}"
    return RoleMissing(text, workspace_id)


def is_closed_to(caller: Caller, action: Action, thing: ThingKind) -> bool:
    """Whether the action is refused because code in a task asks for it."""
    return caller.is_task_session and (action, thing) in CLOSED_TO_TASKS


def is_owner(caller: Caller, thing: Owned) -> bool:
    """Whether the thing is the caller's own: only its owner gets the keys of a running task."""
    return caller.user_id == thing.user_id


def can_control(caller: Caller, kind: ThingKind, thing: Owned) -> bool:
    """Whether the caller may change what this thing does, and end it.

    With roles, a thing in no workspace (None, 0) needs the permission in the whole cluster.
    """
    place = thing.workspace_id or NOWHERE
    return can(caller, "control", kind, owner_id=thing.user_id, workspace_id=place)


def may_control(caller: Caller, kind: ThingKind, thing: Owned) -> None:
    """Check that the caller may control the thing.

    Raises:
        PermissionDenied: otherwise.
    """
    if not can_control(caller, kind, thing):
        raise refusal_of(caller, "control", kind, thing.workspace_id)


def may_see(caller: Caller, thing: ThingKind, workspace_id: int | None, missing: str) -> None:
    """Check that the caller may see a thing of that workspace.

    With roles, a thing in no workspace (None, 0) needs the permission in the whole cluster.

    Raises:
        NotFound: with the text `missing`, which is the same for a thing that does not exist.
    """
    if not can(caller, "read", thing, workspace_id=workspace_id or NOWHERE):
        raise NotFound(missing)


def visible(caller: Caller, thing: ThingKind) -> list[int] | None:
    """The workspaces in which the caller sees things of that kind; None for all workspaces."""
    if caller.is_admin or caller.rights is None:
        return None
    found: set[int] = set()
    for permission in NEEDS.get(("read", thing), ()):
        workspaces = caller.rights.workspaces(permission)
        if workspaces is None:
            return None
        found |= workspaces
    return sorted(found)


def _can_by_roles(
    caller: Caller,
    rights: Rights,
    action: Action,
    thing: ThingKind,
    owner_id: int | None,
    workspace_id: int | None,
) -> bool:
    needed = _needed(caller, action, thing, owner_id)
    if not needed:
        return needed is not None
    if workspace_id is not None:
        return any(rights.holds(permission, workspace_id) for permission in needed)
    is_of_workspaces = not any(permission.is_of_cluster for permission in needed)
    if action == "read" and is_of_workspaces:
        return True
    return any(rights.holds_anywhere(permission) for permission in needed)


def _needed(
    caller: Caller, action: Action, thing: ThingKind, owner_id: int | None
) -> Needed | None:
    """The permissions of which one is needed; empty if everybody may, None if nobody may."""
    if owner_id is None or owner_id == caller.user_id:
        is_own_account = (action, thing, owner_id) == ("edit", "user", caller.user_id)
        return NOBODY_SPECIAL if is_own_account else NEEDS.get((action, thing))
    return NEEDS_OF_OTHERS.get((action, thing), NEEDS.get((action, thing)))


def may_read(scope: TaskScope, uuid: str, experiment_id: int | None, source: str | None) -> bool:
    """Whether a task may read the record of a checkpoint.

    A task may read all checkpoints of its experiment, since trials of a search start from each
    other's checkpoints. It may also read the checkpoint from which its trial started.

    Args:
        uuid: the checkpoint's.
        experiment_id: whose it is; None for one that belongs to none.
        source: the checkpoint from which the task's trial started.
    """
    return uuid == source or (experiment_id is not None and experiment_id == scope.experiment_id)
