"""Records of the web UI's views and boards."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

import msgspec

PageKind = Literal["view", "board"]
Scope = Literal["private", "project", "workspace"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


class PagePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The project of a page with its workspace, and their owners."""

    workspace_id: int
    project_name: str
    workspace_name: str
    project_owner_id: int
    workspace_owner_id: int


class PageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A view or a board; `body` is JSON."""

    id: int
    kind: PageKind
    project_id: int
    project_name: str
    workspace_id: int
    workspace_name: str
    project_owner_id: int
    workspace_owner_id: int
    owner_id: int
    owner_name: str
    scope: Scope
    name: str
    is_default: bool
    text: str
    body: str
    version: int
    created_at: datetime
    updated_at: datetime


class NewPage(msgspec.Struct, frozen=True, kw_only=True):
    """A view or a board to store."""

    kind: PageKind
    project_id: int
    scope: str
    name: str
    is_default: bool = False
    text: str = ""
    body: str = ""


class PageChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a page; fields that are None stay as they are."""

    scope: str | None = None
    name: str | None = None
    is_default: bool | None = None
    text: str | None = None
    body: str | None = None


class LinkRow(msgspec.Struct, frozen=True):
    """The state (JSON) behind a short link."""

    state: str
    created_at: datetime
