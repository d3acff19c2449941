"""Routes of the directories that experiments were submitted with."""

from __future__ import annotations

import base64
import re

from determined_master.api.routes import Call, Reply, plain_route, route
from determined_master.domain.errors import InvalidArgument
from determined_wire.rest import experiments as wire

NOT_IN_FILE_NAME = re.compile(r"[^A-Za-z0-9 ._()+-]")
ID = re.compile(r"-?[0-9]{1,9}")


@route("GET", "/api/v1/experiments/{experiment_id}/model_def")
async def get_model_def(call: Call, request: wire.GetModelDefRequest) -> wire.GetModelDefResponse:
    """The model directory as tar.gz."""
    tgz = await call.services.experiments.model_definition(call.caller, request.experiment_id)
    return wire.GetModelDefResponse(b64_tgz=base64.b64encode(tgz).decode())


@plain_route("GET", "/experiments/{experiment_id}/model_def")
async def download_model_def(call: Call) -> Reply:
    """The model directory as a file to save."""
    text = call.parameters["experiment_id"]
    if not ID.fullmatch(text):
        raise InvalidArgument(f"unable to parse to int: {text}: an experiment's id is a number")
    row = await call.services.experiments.get(call.caller, int(text))
    tgz = await call.services.experiments.model_definition(call.caller, row.id)
    name = NOT_IN_FILE_NAME.sub("_", row.name)
    disposition = f'attachment; filename="exp{row.id}_{name}_model_def.tar.gz"'
    return Reply(
        tgz, content_type="application/x-gtar", headers=(("content-disposition", disposition),)
    )
