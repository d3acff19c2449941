"""Routes of templates."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED, IN_SERVICE, on, upsert
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import cut
from determined_master.domain.access.rules import Caller, can
from determined_master.domain.config.masking import mask_config
from determined_master.domain.errors import InvalidArgument
from determined_master.records.configs import TemplateRow
from determined_master.services.configs.templates import Templates
from determined_wire.rest import templates as wire
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.template import Template


@route("GET", "/api/v1/templates", access=FILTERED, in_task=READS)
async def get_templates(
    call: Call, request: wire.GetTemplatesRequest, templates: Templates
) -> wire.GetTemplatesResponse:
    """Templates by name, a page of them."""
    found = await templates.find(
        call.caller,
        request.name,
        request.workspace_ids,
        descending=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    shown, bounds = cut(found, request.offset, request.limit)
    return wire.GetTemplatesResponse(
        templates=[_template(call.caller, row) for row in shown],
        pagination=bounds,
    )


@route(
    "GET",
    "/api/v1/templates/{template_name}",
    access=on("template", "template_name"),
    in_task=READS,
)
async def get_template(
    call: Call, request: wire.GetTemplateRequest, templates: Templates
) -> wire.GetTemplateResponse:
    """One template."""
    row = await templates.get(call.caller, request.template_name)
    return wire.GetTemplateResponse(template=_template(call.caller, row))


@route("POST", "/api/v1/templates/{template.name}", submission=True, access=IN_SERVICE)
async def post_template(
    call: Call, request: wire.PostTemplateRequest, templates: Templates
) -> wire.PostTemplateResponse:
    """Store a new template."""
    given = _given(request.template)
    row = await templates.create(call.caller, given.name, given.workspace_id, given.config or {})
    return wire.PostTemplateResponse(template=_template(call.caller, row))


@route(
    "PUT",
    "/api/v1/templates/{template.name}",
    submission=True,
    access=upsert("template", "template.name", "edit", "template"),
)
async def put_template(
    call: Call, request: wire.PutTemplateRequest, templates: Templates
) -> wire.PutTemplateResponse:
    """Store a template, or replace the configuration of the one that has the name."""
    given = _given(request.template)
    row = await templates.put(call.caller, given.name, given.workspace_id, given.config or {})
    return wire.PutTemplateResponse(template=_template(call.caller, row))


@route(
    "PATCH",
    "/api/v1/templates/{template_name}",
    submission=True,
    access=on("template", "template_name", "edit", "template"),
)
async def patch_template_config(
    call: Call, request: wire.PatchTemplateConfigRequest, templates: Templates
) -> wire.PatchTemplateConfigResponse:
    """Replace a template's configuration as a whole."""
    row = await templates.replace(call.caller, request.template_name, request.config or {})
    return wire.PatchTemplateConfigResponse(template=_template(call.caller, row))


@route("PATCH", "/api/v1/template/rename", access=on("template", "old_name", "edit", "template"))
async def patch_template_name(
    call: Call, request: wire.PatchTemplateNameRequest, templates: Templates
) -> wire.PatchTemplateNameResponse:
    """Give a template another name."""
    row = await templates.rename(call.caller, request.old_name, request.new_name)
    return wire.PatchTemplateNameResponse(template=_template(call.caller, row))


delete_template = pass_through(
    "DELETE /api/v1/templates/{template_name}",
    "Delete a template; configurations made from it are kept.",
    Templates.delete,
    access=on("template", "template_name", "delete", "template"),
)


def _given(template: Template | None) -> Template:
    if template is None:
        raise InvalidArgument("the request has no template")
    return template


def _template(caller: Caller, row: TemplateRow) -> Template:
    """With its secrets if the caller may edit it."""
    is_open = can(caller, "edit", "template", owner_id=row.owner_id, workspace_id=row.workspace_id)
    config = row.config if is_open else mask_config(row.config)
    return Template(name=row.name, config=config, workspace_id=row.workspace_id)
