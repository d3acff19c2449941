"""Records of users, groups, roles, tokens, and the things that requests name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, get_args

import msgspec

InteractiveWord = Literal["command", "notebook", "shell", "tensorboard"]
INTERACTIVE_WORDS: tuple[InteractiveWord, ...] = get_args(InteractiveWord)
Thing = Literal[
    "workspace",
    "project",
    "project_key",
    "experiment",
    "external_experiment",
    "trial",
    "checkpoint",
    "task",
    "allocation",
    InteractiveWord,
    "job",
    "template",
    "webhook",
    "model",
]


class UserRow(msgspec.Struct, frozen=True):
    """One user; the password's hash leaves the store only for a check."""

    id: int
    username: str
    display_name: str
    admin: bool
    active: bool
    remote: bool
    modified_at: datetime
    last_auth_at: datetime | None = None
    agent_uid: int | None = None
    agent_gid: int | None = None
    agent_user: str | None = None
    agent_group: str | None = None


class UserFilter(msgspec.Struct, frozen=True):
    """Which users to list; None and the empty text do not restrict the list."""

    name: str = ""
    active: bool | None = None
    admin: bool | None = None
    role_ids: Sequence[int] = ()
    """Holders of one of these roles by an own assignment, anywhere; empty for anybody."""


class GroupRow(msgspec.Struct, frozen=True):
    """One group, and how many users are in it."""

    id: int
    name: str
    num_members: int = 0


class AssignmentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One role of a user or of a group (exactly one of the two is set)."""

    role_id: int
    user_id: int | None = None
    group_id: int | None = None
    workspace_id: int | None = None
    """None: in the whole cluster."""


class TokenRow(msgspec.Struct, frozen=True):
    """One access token; the token itself is shown once and not stored."""

    id: int
    user_id: int
    expires_at: datetime
    created_at: datetime
    revoked_at: datetime | None
    description: str
