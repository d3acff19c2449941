"""Routes of the rungs of halving searches."""

from __future__ import annotations

from determined_master.api.http.access import on
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.services.experiments.rungs import SearchRungs
from determined_wire.ui import rungs as wire


@route("GET", "/api/ui/v1/experiments/{id}/rungs", access=on("experiment", "id"))
async def get_rungs(
    call: Call, request: wire.GetRungsRequest, rungs: SearchRungs
) -> wire.GetRungsResponse:
    """How many trials of a search have reached each rung, and what it takes to pass it."""
    ladder = await rungs.find(call.caller, request.id)
    return struct_of(
        wire.GetRungsResponse,
        ladder,
        brackets=[
            wire.SearchBracket(
                bracket.trials, [struct_of(wire.SearchRung, rung) for rung in bracket.rungs]
            )
            for bracket in ladder.brackets
        ],
    )
