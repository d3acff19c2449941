"""Routes of models."""

from __future__ import annotations

from functools import partial

from determined_master.api.http.access import FILTERED, IN_SERVICE, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import MODELS, READS
from determined_master.api.models.shapes import model_message
from determined_master.api.shapes import cut, struct_of
from determined_master.records.models import ModelFilter
from determined_master.services.models.service import ModelChanges, ModelRequest, Models
from determined_wire.rest import models as wire
from determined_wire.rest.types.shared import OrderBy


@route("GET", "/api/v1/models", access=FILTERED, in_task=READS)
async def get_models(
    call: Call, request: wire.GetModelsRequest, models: Models
) -> wire.GetModelsResponse:
    """Models that match the filters, a page of them."""
    wanted = struct_of(ModelFilter, request, usernames=request.users)
    sort = request.sort_by.removeprefix("SORT_BY_").lower()
    found = await models.find(
        call.caller,
        wanted,
        sort="id" if sort == "unspecified" else sort,
        descending=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    shown, bounds = cut(found, request.offset, request.limit)
    return wire.GetModelsResponse(models=[model_message(row) for row in shown], pagination=bounds)


@route("POST", "/api/v1/models", access=IN_SERVICE, in_task=MODELS)
async def post_model(
    call: Call, request: wire.PostModelRequest, models: Models
) -> wire.PostModelResponse:
    """Make a model."""
    model = struct_of(ModelRequest, request, metadata=request.metadata or {})
    row = await models.create(call.caller, model)
    return wire.PostModelResponse(model=model_message(row))


@route("GET", "/api/v1/models/{model_name}", access=on("model", "model_name"), in_task=READS)
async def get_model(
    call: Call, request: wire.GetModelRequest, models: Models
) -> wire.GetModelResponse:
    """One model, by its name or id."""
    row = await models.get(call.caller, request.model_name)
    return wire.GetModelResponse(model=model_message(row))


@route(
    "PATCH",
    "/api/v1/models/{model_name}",
    access=on("model", "model_name", "edit", "model"),
    in_task=MODELS,
)
async def patch_model(
    call: Call, request: wire.PatchModelRequest, models: Models
) -> wire.PatchModelResponse:
    """Change a model: fields in the request replace the stored ones."""
    given = request.model
    changes = ModelChanges()
    if given is not None:
        changes = struct_of(
            ModelChanges,
            given,
            labels=None if given.labels is None else [str(label) for label in given.labels],
        )
    row = await models.change(call.caller, request.model_name, changes)
    return wire.PatchModelResponse(model=model_message(row))


_edit_route = partial(
    pass_through, access=on("model", "model_name", "edit", "model"), in_task=MODELS
)
archive_model = _edit_route(
    "POST /api/v1/models/{model_name}/archive",
    "Close a model to changes.",
    Models.archive,
    fixed={"archived": True},
)
unarchive_model = _edit_route(
    "POST /api/v1/models/{model_name}/unarchive",
    "Open an archived model to changes.",
    Models.archive,
    fixed={"archived": False},
)


@route(
    "POST",
    "/api/v1/models/{model_name}/move",
    access=(
        on("model", "model_name", "edit", "model"),
        on("workspace", "destination_workspace_id", "create", "model"),
    ),
    in_task=MODELS,
)
async def move_model(
    call: Call, request: wire.MoveModelRequest, models: Models
) -> wire.MoveModelResponse:
    """Bring a model into another workspace."""
    changes = ModelChanges(workspace_id=request.destination_workspace_id)
    await models.change(call.caller, request.model_name, changes)
    return wire.MoveModelResponse()


delete_model = pass_through(
    "DELETE /api/v1/models/{model_name}",
    "Forget a model with its versions; their checkpoints stay.",
    Models.delete,
    access=on("model", "model_name", "delete", "model"),
    in_task=MODELS,
)


@route("GET", "/api/v1/model/labels", access=FILTERED, in_task=READS)
async def get_model_labels(
    call: Call, request: wire.GetModelLabelsRequest, models: Models
) -> wire.GetModelLabelsResponse:
    """Labels of the models of a workspace, or of all; the most used first."""
    labels = await models.labels(call.caller, request.workspace_id)
    return wire.GetModelLabelsResponse(labels=labels)
