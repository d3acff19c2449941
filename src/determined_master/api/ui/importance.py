"""Routes of the importance of hyperparameters."""

from __future__ import annotations

from determined_master.api.http.access import on
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.services.experiments.importance import HpImportances
from determined_wire.ui import importance as wire


@route("GET", "/api/ui/v1/experiments/{id}/hp-importance", access=on("experiment", "id"))
async def get_hp_importance(
    call: Call, request: wire.GetHpImportanceRequest, importances: HpImportances
) -> wire.GetHpImportanceResponse:
    """How much each hyperparameter of an experiment matters for a metric."""
    found = await importances.find(
        call.caller, request.id, request.metric, request.group, request.smaller_is_better
    )
    return struct_of(
        wire.GetHpImportanceResponse,
        found,
        n=found.used,
        parameters=[
            struct_of(wire.HpImportanceEntry, one, n=found.used) for one in found.parameters
        ],
    )
