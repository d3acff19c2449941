"""Routes of the web UI's views, and of the states behind its short links."""

from __future__ import annotations

import msgspec

from determined_master.api.http.access import IN_SERVICE, SIGNED_IN, on
from determined_master.api.http.protojson import raw_json
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.domain.access.rules import Caller
from determined_master.records.pages import NewPage, PageChanges, PageRow
from determined_master.services.workspaces.links import LIFE, Links
from determined_master.services.workspaces.pages import ProjectPages, can_edit
from determined_wire.ui import pages as wire


@route("GET", "/api/ui/v1/projects/{project_id}/views", access=on("project", "project_id"))
async def get_views(
    call: Call, request: wire.GetViewsRequest, pages: ProjectPages
) -> wire.GetViewsResponse:
    """The views that the caller is shown in a project."""
    found = await pages.list_pages(call.caller, "view", request.project_id)
    return wire.GetViewsResponse(views=[_view(call.caller, row) for row in found])


@route(
    "POST",
    "/api/ui/v1/projects/{project_id}/views",
    access=on("project", "project_id"),
    body="*",
)
async def post_view(
    call: Call, request: wire.PostViewRequest, pages: ProjectPages
) -> wire.ViewResponse:
    """Store a view."""
    new = NewPage(
        kind="view",
        project_id=request.project_id,
        scope=request.scope,
        name=request.name,
        is_default=request.is_default,
        body=msgspec.json.encode(request.state or {}).decode(),
    )
    return _answer(call.caller, await pages.create(call.caller, new))


@route("PATCH", "/api/ui/v1/views/{id}", access=IN_SERVICE, body="*")
async def patch_view(
    call: Call, request: wire.PatchViewRequest, pages: ProjectPages
) -> wire.ViewResponse:
    """Change a view, unless it has another version by now."""
    changes = PageChanges(
        scope=request.scope,
        name=request.name,
        is_default=request.is_default,
        body=None if request.state is None else msgspec.json.encode(request.state).decode(),
    )
    row = await pages.change(call.caller, "view", request.id, request.version, changes)
    return _answer(call.caller, row)


@route("DELETE", "/api/ui/v1/views/{id}", access=IN_SERVICE)
async def delete_view(
    call: Call, request: wire.DeleteViewRequest, pages: ProjectPages
) -> wire.DeleteViewResponse:
    """Delete a view."""
    await pages.delete(call.caller, "view", request.id)
    return wire.DeleteViewResponse()


@route("POST", "/api/ui/v1/links", access=SIGNED_IN, body="*")
async def post_link(
    call: Call, request: wire.PostLinkRequest, links: Links
) -> wire.PostLinkResponse:
    """Store a state that is too long for an address."""
    link_id, expires_at = await links.create(
        call.caller, msgspec.json.encode(request.state or {}).decode()
    )
    return wire.PostLinkResponse(id=link_id, expires_at=expires_at)


@route("GET", "/api/ui/v1/links/{id}", access=SIGNED_IN)
async def get_link(call: Call, request: wire.GetLinkRequest, links: Links) -> wire.GetLinkResponse:
    """The state of a short link."""
    row = await links.get(request.id)
    return wire.GetLinkResponse(
        state=raw_json(row.state), created_at=row.created_at, expires_at=row.created_at + LIFE
    )


def _answer(caller: Caller, row: PageRow) -> wire.ViewResponse:
    return wire.ViewResponse(view=_view(caller, row))


def _view(caller: Caller, row: PageRow) -> wire.View:
    return struct_of(wire.View, row, can_edit=can_edit(caller, row), state=raw_json(row.body))
