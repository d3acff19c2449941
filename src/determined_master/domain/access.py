"""Who may do what. Every service function asks here before it acts.

Known for now: an admin may do everything; an owner what concerns their own things; others what
an open cluster leaves to everybody. Roles of a workspace will be one more line here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from determined_master.domain.errors import PermissionDenied

Action = Literal["read", "create", "edit", "control", "delete", "report", "configure"]
Kind = Literal[
    "cluster",
    "agent",
    "user",
    "token",
    "workspace",
    "project",
    "experiment",
    "trial",
    "checkpoint",
    "model",
    "template",
    "task",
    "log",
    "queue",
    "pool",
    "usage",
]

ADMIN_ONLY: frozenset[tuple[Action, Kind]] = frozenset(
    {
        ("configure", "cluster"),
        ("edit", "agent"),
        ("edit", "pool"),
        ("create", "user"),
        ("configure", "user"),  # activate, make admin, rename: what users cannot do themselves
        ("edit", "token"),
        ("delete", "log"),
    }
)
OWNER_ONLY: frozenset[tuple[Action, Kind]] = frozenset(
    {
        ("edit", "user"),
        ("edit", "workspace"),
        ("delete", "workspace"),
        ("edit", "project"),
        ("delete", "project"),
        ("delete", "experiment"),
        ("delete", "model"),
    }
)
REFUSAL = "user does not have permission"


class TaskScope(msgspec.Struct, frozen=True):
    """What a task's token is good for: this task and nothing else."""

    task_id: str
    allocation_id: str
    trial_id: int | None = None
    experiment_id: int | None = None


class Caller(msgspec.Struct, frozen=True):
    """Who sent a request. A task's token acts for the task's owner, within its scope."""

    user_id: int
    username: str
    is_admin: bool = False
    is_active: bool = True
    session_id: int | None = None
    scope: TaskScope | None = None


def can(caller: Caller, action: Action, thing: Kind, *, owner_id: int | None = None) -> bool:
    """Whether the caller may do this to a thing of that kind, which `owner_id` owns."""
    if not caller.is_active:
        return False
    if caller.is_admin:
        return True
    if (action, thing) in ADMIN_ONLY:
        return False
    return (action, thing) not in OWNER_ONLY or owner_id == caller.user_id


def may(
    caller: Caller,
    action: Action,
    thing: Kind,
    *,
    owner_id: int | None = None,
    refusal: str = REFUSAL,
) -> None:
    """Do nothing when the caller may do this.

    Raises:
        PermissionDenied: with `refusal` as its text.
    """
    if not can(caller, action, thing, owner_id=owner_id):
        raise PermissionDenied(refusal)
