"""Routes of the lineage from a checkpoint to the models that have it."""

from __future__ import annotations

from determined_master.api.http.access import on
from determined_master.api.http.routes import Call, route
from determined_master.services.models.versions import ModelVersions
from determined_wire.ui import registrations as wire


@route(
    "GET",
    "/api/ui/v1/checkpoints/{checkpoint_uuid}/registrations",
    access=on("checkpoint", "checkpoint_uuid"),
)
async def get_registrations(
    call: Call, request: wire.GetRegistrationsRequest, model_versions: ModelVersions
) -> wire.GetRegistrationsResponse:
    """The versions of models that a checkpoint is, of the models that the caller sees."""
    found = await model_versions.list_of_checkpoint(call.caller, request.checkpoint_uuid)
    return wire.GetRegistrationsResponse(
        registrations=[
            wire.Registration(
                model_id=one.model_id,
                model_name=one.model_name,
                version=one.version,
                name=one.name,
            )
            for one in found
        ]
    )
