"""Messages of views, boards and short links."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import (
    BoolValue,
    Int32,
    JsonList,
    JsonObject,
    Message,
    StringValue,
    Timestamp,
)


class Page(Message, frozen=True):
    """A view or a board."""

    id: Int32 = 0
    name: str = ""
    scope: str = ""
    owner_id: Int32 = 0
    owner_name: str = ""
    project_id: Int32 = 0
    workspace_id: Int32 = 0
    can_edit: bool = False
    version: Int32 = 0
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None


class View(Page, frozen=True):
    """A named state of a project's list."""

    is_default: bool = False
    state: JsonObject | None = None


class GetViewsRequest(Message, frozen=True):
    """Asks for the views that the caller is shown in a project."""

    project_id: Int32 = 0


class GetViewsResponse(Message, frozen=True):
    """Views by name."""

    views: Sequence[View] = ()


class PostViewRequest(Message, frozen=True):
    """Stores a view; `scope` is `private`, `project` or `workspace`."""

    project_id: Int32 = 0
    name: str = ""
    scope: str = ""
    is_default: bool = False
    state: JsonObject | None = None


class PatchViewRequest(Message, frozen=True):
    """Changes a view of a version; absent fields stay."""

    id: Int32 = 0
    version: Int32 = 0
    name: StringValue | None = None
    scope: StringValue | None = None
    is_default: BoolValue | None = None
    state: JsonObject | None = None


class ViewResponse(Message, frozen=True):
    """A view as it is now."""

    view: View | None = None


class DeleteViewRequest(Message, frozen=True):
    """Deletes a view."""

    id: Int32 = 0


class DeleteViewResponse(Message, frozen=True):
    """The view is deleted."""


class Board(Page, frozen=True):
    """A page of Markdown and panels; lists have neither."""

    project_name: str = ""
    workspace_name: str = ""
    text: str = ""
    panels: JsonList | None = None


class GetBoardsRequest(Message, frozen=True):
    """Asks for the boards that the caller is shown in a project."""

    project_id: Int32 = 0


class GetAllBoardsRequest(Message, frozen=True):
    """Asks for the boards that the caller is shown in all projects."""


class GetBoardsResponse(Message, frozen=True):
    """Boards by name, without their contents."""

    boards: Sequence[Board] = ()


class GetBoardRequest(Message, frozen=True):
    """Asks for a board."""

    id: Int32 = 0


class PostBoardRequest(Message, frozen=True):
    """Stores a board; `scope` is `private` or `project`."""

    project_id: Int32 = 0
    name: str = ""
    scope: str = ""
    text: str = ""
    panels: JsonList | None = None


class PatchBoardRequest(Message, frozen=True):
    """Changes a board of a version; absent fields stay."""

    id: Int32 = 0
    version: Int32 = 0
    name: StringValue | None = None
    scope: StringValue | None = None
    text: StringValue | None = None
    panels: JsonList | None = None


class BoardResponse(Message, frozen=True):
    """A board as it is now."""

    board: Board | None = None


class DeleteBoardRequest(Message, frozen=True):
    """Deletes a board."""

    id: Int32 = 0


class DeleteBoardResponse(Message, frozen=True):
    """The board is deleted."""


class PostLinkRequest(Message, frozen=True):
    """Stores a state that is too long for an address."""

    state: JsonObject | None = None


class PostLinkResponse(Message, frozen=True):
    """The id of the link."""

    id: str = ""
    expires_at: Timestamp | None = None


class GetLinkRequest(Message, frozen=True):
    """Asks for the state of a link."""

    id: str = ""


class GetLinkResponse(Message, frozen=True):
    """The state of a link."""

    state: JsonObject | None = None
    created_at: Timestamp | None = None
    expires_at: Timestamp | None = None
