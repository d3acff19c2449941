"""Who may do what. Every service function asks here before it acts.

Known for now: an admin may do everything; an owner what concerns their own things; others what
an open cluster leaves to everybody. Roles of a workspace will be one more line here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from determined_master.domain.errors import PermissionDenied

Action = Literal[
    "cluster.view",
    "cluster.configure",
    "agent.manage",
    "user.view",
    "user.create",
    "user.edit_own",
    "user.edit_any",
    "user.deactivate",
    "experiment.view",
    "experiment.create",
    "experiment.edit",
    "experiment.control",
    "experiment.delete",
    "task.view",
    "task.report",
    "logs.view",
    "logs.delete",
    "token.manage",
    "workspace.view",
    "workspace.create",
    "workspace.edit",
    "template.edit",
    "model.edit",
    "model.delete",
    "queue.edit",
]

ADMIN_ONLY: frozenset[Action] = frozenset(
    {
        "cluster.configure",
        "agent.manage",
        "user.create",
        "user.edit_any",
        "user.deactivate",
        "logs.delete",
        "token.manage",
    }
)
OWNER_ONLY: frozenset[Action] = frozenset(
    {"user.edit_own", "workspace.edit", "model.delete", "experiment.delete"}
)


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


class Thing(msgspec.Struct, frozen=True):
    """What an action is about, as far as its rule asks."""

    owner_id: int | None = None


NOTHING = Thing()


def may(caller: Caller, action: Action, thing: Thing = NOTHING) -> bool:
    """Decide whether the caller may do this to that thing."""
    if not caller.is_active:
        return False
    if caller.is_admin:
        return True
    if action in ADMIN_ONLY:
        return False
    return action not in OWNER_ONLY or thing.owner_id == caller.user_id


def require(
    caller: Caller,
    action: Action,
    thing: Thing = NOTHING,
    *,
    refusal: str = "user does not have permission",
) -> None:
    """Do nothing when the caller may.

    Raises:
        PermissionDenied: with `refusal` as its text.
    """
    if not may(caller, action, thing):
        raise PermissionDenied(refusal)
