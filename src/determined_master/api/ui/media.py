"""Routes of images, tables, histograms, audio and texts of trials."""

from __future__ import annotations

import re

import msgspec

from determined_master.api.http.access import on
from determined_master.api.http.routes import Call, Reply, plain_route, route
from determined_master.domain.errors import InvalidArgument
from determined_master.services.checkpoints.media import TrialMedia
from determined_wire.ui import media as wire

ID = re.compile(r"-?[0-9]{1,9}")
PARTS = ("group", "name", "file")
HEADERS = (
    ("content-security-policy", "default-src 'none'; sandbox"),
    ("cache-control", "private, max-age=60"),
)
"""A file that is opened as a page runs nothing; a slider that moves back asks again rarely."""


@route("GET", "/api/ui/v1/trials/{id}/media", access=on("trial", "id"))
async def get_trial_media(
    call: Call, request: wire.GetTrialMediaRequest, media: TrialMedia
) -> wire.GetTrialMediaResponse:
    """The media of a trial: names, kinds and steps."""
    series, is_cut = await media.series(call.caller, request.id)
    return wire.GetTrialMediaResponse(
        media=[wire.MediaSeries(**msgspec.structs.asdict(one)) for one in series], is_cut=is_cut
    )


@plain_route(
    "GET",
    "/api/ui/v1/trials/{id}/media/{media_group}/{media_name}/{media_file}",
    access=on("trial", "id"),
    produces="application/octet-stream",
)
async def get_trial_media_file(call: Call, media: TrialMedia) -> Reply:
    """One value of a trial, as a file of a fixed type by its kind and extension."""
    trial = call.parameters["id"]
    if not ID.fullmatch(trial):
        raise InvalidArgument(f"unable to parse to int: {trial}: a trial's id is a number")
    path = "/".join(call.parameters[f"media_{part}"] for part in PARTS)
    file, content = await media.content(call.caller, int(trial), path)
    return Reply(content, content_type=file.content_type, headers=HEADERS)
