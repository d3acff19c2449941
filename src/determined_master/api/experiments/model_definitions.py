"""Routes of the directories that experiments were submitted with."""

from __future__ import annotations

import asyncio
import base64
import posixpath
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from determined_master.api.http.access import on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.protojson import ready_text
from determined_master.api.http.routes import Call, Reply, plain_route, route
from determined_master.api.http.task_use import READS
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.experiment.model_definition import ListedFile, is_text
from determined_master.services.experiments.model_files import ModelFiles
from determined_master.services.experiments.service import Experiments
from determined_wire.rest import experiments as wire
from determined_wire.rest.types.experiment import FileNode

NOT_IN_FILE_NAME = re.compile(r"[^A-Za-z0-9 ._()+-]")
NOT_IN_PATH = re.compile(r"[^A-Za-z0-9 ._()+/-]")
BASE64_PIECE = 3 * 256 * 1024
"""Bytes, a multiple of three."""
ID = re.compile(r"-?[0-9]{1,9}")


@route(
    "GET",
    "/api/v1/experiments/{experiment_id}/model_def",
    access=on("experiment", "experiment_id", "read", "checkpoint"),
    in_task=READS,
)
async def get_model_def(
    call: Call, request: wire.GetModelDefRequest, experiments: Experiments
) -> wire.GetModelDefResponse:
    """The model directory as tar.gz."""
    tgz = await experiments.model_definition(call.caller, request.experiment_id)
    return wire.GetModelDefResponse(b64_tgz=ready_text(await asyncio.to_thread(_base64, tgz)))


@plain_route(
    "GET",
    "/experiments/{experiment_id}/model_def",
    access=on("experiment", "experiment_id", "read", "checkpoint"),
    in_task=READS,
)
async def download_model_def(call: Call, experiments: Experiments) -> Reply:
    """The model directory as a file to save."""
    row = await experiments.get(call.caller, _id(call))
    tgz = await experiments.model_definition(call.caller, row.id)
    name = NOT_IN_FILE_NAME.sub("_", row.name)
    disposition = f'attachment; filename="exp{row.id}_{name}_model_def.tar.gz"'
    return Reply(
        tgz, content_type="application/x-gtar", headers=(("content-disposition", disposition),)
    )


@route(
    "GET",
    "/api/v1/experiments/{experiment_id}/file_tree",
    access=on("experiment", "experiment_id", "read", "checkpoint"),
    in_task=READS,
)
async def get_model_def_tree(
    call: Call, request: wire.GetModelDefTreeRequest, model_files: ModelFiles
) -> wire.GetModelDefTreeResponse:
    """The files of the model directory, each in its directory."""
    found = await model_files.tree(call.caller, request.experiment_id)
    return wire.GetModelDefTreeResponse(files=_nodes(found))


get_model_def_file = pass_through(
    "POST /api/v1/experiments/{experiment_id}/file",
    "One file of the model directory.",
    ModelFiles.read,
    takes=("path",),
    answer="file",
    access=on("experiment", "experiment_id", "read", "checkpoint"),
    in_task=READS,
)


@plain_route(
    "GET",
    "/experiments/{experiment_id}/file/download",
    access=on("experiment", "experiment_id", "read", "checkpoint"),
    in_task=READS,
)
async def download_model_def_file(call: Call, model_files: ModelFiles) -> Reply:
    """One file of the model directory as a file to save; `path` names it."""
    experiment_id = _id(call)
    path = dict(parse_qsl(call.http.query)).get("path", "")
    if not path:
        raise InvalidArgument("missing parameter: path")
    contents = await model_files.read(call.caller, experiment_id, path)
    name = NOT_IN_PATH.sub("_", path)
    return Reply(
        contents,
        content_type=_content_type(is_text=is_text(contents)),
        headers=(("content-disposition", f'attachment; filename="exp{experiment_id}/{name}"'),),
    )


def _id(call: Call) -> int:
    text = call.parameters["experiment_id"]
    if not ID.fullmatch(text):
        raise InvalidArgument(f"unable to parse to int: {text}: an experiment's id is a number")
    return int(text)


def _base64(content: bytes) -> bytes:
    """A JSON string of it, made in pieces: while one is made, no other thread runs."""
    pieces = (content[at : at + BASE64_PIECE] for at in range(0, len(content), BASE64_PIECE))
    return b"".join([b'"', *map(base64.b64encode, pieces), b'"'])


def _nodes(files: Sequence[ListedFile]) -> list[FileNode]:
    """What lies directly in the model directory, and in each directory what lies there."""
    inside: dict[str, list[ListedFile]] = {}
    for file in files:
        inside.setdefault(posixpath.dirname(file.path), []).append(file)

    def nodes(directory: str) -> list[FileNode]:
        return [
            FileNode(
                path=file.path,
                name=posixpath.basename(file.path),
                modified_time=datetime.fromtimestamp(file.mtime_s, UTC),
                content_length=file.size_bytes,
                is_dir=file.is_dir,
                content_type=_content_type(is_text=file.is_text),
                files=nodes(file.path) if file.is_dir else (),
            )
            for file in inside.get(directory, ())
        ]

    return nodes("")


def _content_type(*, is_text: bool) -> str:
    return "text/plain; charset=utf-8" if is_text else "application/octet-stream"
