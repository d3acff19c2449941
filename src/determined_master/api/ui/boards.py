"""Routes of the web UI's boards: pages of Markdown and panels."""

from __future__ import annotations

import msgspec

from determined_master.api.http.access import FILTERED, IN_SERVICE, on
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.domain.access.rules import Caller
from determined_master.records.pages import NewPage, PageChanges, PageRow
from determined_master.services.workspaces.pages import ProjectPages, can_edit
from determined_wire.ui import pages as wire


@route("GET", "/api/ui/v1/boards", access=FILTERED)
async def get_all_boards(
    call: Call, request: wire.GetAllBoardsRequest, pages: ProjectPages
) -> wire.GetBoardsResponse:
    """The boards that the caller is shown in all projects, without their contents."""
    found = await pages.list_boards(call.caller)
    return wire.GetBoardsResponse(boards=[_board(call.caller, row) for row in found])


@route("GET", "/api/ui/v1/projects/{project_id}/boards", access=on("project", "project_id"))
async def get_boards(
    call: Call, request: wire.GetBoardsRequest, pages: ProjectPages
) -> wire.GetBoardsResponse:
    """The boards that the caller is shown in a project, without their contents."""
    found = await pages.list_pages(call.caller, "board", request.project_id)
    return wire.GetBoardsResponse(boards=[_board(call.caller, row) for row in found])


@route(
    "POST",
    "/api/ui/v1/projects/{project_id}/boards",
    access=on("project", "project_id"),
    body="*",
)
async def post_board(
    call: Call, request: wire.PostBoardRequest, pages: ProjectPages
) -> wire.BoardResponse:
    """Store a board."""
    new = NewPage(
        kind="board",
        project_id=request.project_id,
        scope=request.scope,
        name=request.name,
        text=request.text,
        body=msgspec.json.encode(request.panels or ()).decode(),
    )
    return _answer(call.caller, await pages.create(call.caller, new))


@route("GET", "/api/ui/v1/boards/{id}", access=IN_SERVICE)
async def get_board(
    call: Call, request: wire.GetBoardRequest, pages: ProjectPages
) -> wire.BoardResponse:
    """A board."""
    return _answer(call.caller, await pages.get(call.caller, "board", request.id))


@route("PATCH", "/api/ui/v1/boards/{id}", access=IN_SERVICE, body="*")
async def patch_board(
    call: Call, request: wire.PatchBoardRequest, pages: ProjectPages
) -> wire.BoardResponse:
    """Change a board, unless it has another version by now."""
    changes = PageChanges(
        scope=request.scope,
        name=request.name,
        text=request.text,
        body=None if request.panels is None else msgspec.json.encode(request.panels).decode(),
    )
    row = await pages.change(call.caller, "board", request.id, request.version, changes)
    return _answer(call.caller, row)


@route("DELETE", "/api/ui/v1/boards/{id}", access=IN_SERVICE)
async def delete_board(
    call: Call, request: wire.DeleteBoardRequest, pages: ProjectPages
) -> wire.DeleteBoardResponse:
    """Delete a board."""
    await pages.delete(call.caller, "board", request.id)
    return wire.DeleteBoardResponse()


def _answer(caller: Caller, row: PageRow) -> wire.BoardResponse:
    return wire.BoardResponse(board=_board(caller, row))


def _board(caller: Caller, row: PageRow) -> wire.Board:
    panels = msgspec.json.decode(row.body) if row.body else []
    return struct_of(wire.Board, row, can_edit=can_edit(caller, row), panels=panels)
