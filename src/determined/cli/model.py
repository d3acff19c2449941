"""`det model`: the model registry."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, List, Sequence
from urllib.parse import quote

from determined.cli import connect, errors
from determined.cli.arguments import YES, confirm
from determined.cli.declare import Command, arg, flag
from determined.cli.output import show
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors
from determined.common.experimental import lists

_HERE = "determined.cli.model"
_NAME = arg("name", help="model name")
_JSON = flag("--json", help="print as JSON")
_SORTS = ("name", "description", "creation_time", "last_updated_time")
_MODEL_HEADERS = (
    "ID",
    "Name",
    "Workspace ID",
    "Creation Time",
    "Last Updated Time",
    "Metadata",
    "Labels",
    "Archived",
)
_VERSION_HEADERS = (
    "Version #",
    "Trial ID",
    "Batch #",
    "Checkpoint UUID",
    "Validation Metrics",
    "Metadata",
)

NOUN = Command(
    "model|m",
    "manage models",
    commands=(
        Command(
            "create",
            "create model",
            f"{_HERE}:create",
            (
                _NAME,
                arg("-w", "--workspace-name", help="workspace the model belongs to"),
                arg("--description", help="description of the model"),
                _JSON,
            ),
        ),
        Command("delete", "delete model and its versions", f"{_HERE}:delete", (_NAME, YES)),
        Command(
            "describe",
            "describe model and one of its versions",
            f"{_HERE}:describe",
            (
                _NAME,
                _JSON,
                arg("--version", type=int, default=-1, help="version, -1 for the latest"),
            ),
        ),
        Command(
            "list|ls",
            "list models",
            f"{_HERE}:list_models",
            (
                arg(
                    "-w",
                    "--workspace-names",
                    help="only models of these workspaces, separated by commas",
                ),
                arg(
                    "--sort-by",
                    choices=_SORTS,
                    default="last_updated_time",
                    help="sort by this field",
                ),
                arg(
                    "--order-by",
                    choices=("asc", "desc"),
                    default="asc",
                    help="sort order",
                ),
                _JSON,
            ),
            is_default=True,
        ),
        Command(
            "list-versions",
            "list versions of a model",
            f"{_HERE}:list_versions",
            (_NAME, _JSON),
        ),
        Command(
            "move",
            "move model to another workspace",
            f"{_HERE}:move",
            (
                _NAME,
                arg("-w", "--workspace-name", required=True, help="workspace to move it to"),
            ),
        ),
        Command(
            "register-version",
            "register a checkpoint as the next version of a model",
            f"{_HERE}:register_version",
            (_NAME, arg("uuid", help="checkpoint UUID"), _JSON),
        ),
    ),
)


def create(args: argparse.Namespace) -> None:
    body: Dict[str, Any] = {"name": args.name}
    if args.description is not None:
        body["description"] = args.description
    if args.workspace_name is not None:
        body["workspaceName"] = args.workspace_name
    model = connect.session(args).post("/api/v1/models", json=body).json()["model"]
    if args.json:
        show.as_json(_with_old_names(model))
    else:
        _print_models([model])


def delete(args: argparse.Namespace) -> None:
    if sys.stdin.isatty():  # scripts of earlier releases give no answer
        confirm(args, f"Deleting model {args.name} deletes its versions. Do you want to proceed?")
    connect.session(args).delete(_path(args.name))
    print(f"Deleted model {args.name}")


def describe(args: argparse.Namespace) -> None:
    """Print a model, and one of its versions."""
    session = connect.session(args)
    model = session.get(_path(args.name)).json()["model"]
    version = _version(session, args.name, args.version)
    if args.json:
        show.as_json({**_with_old_names(model), "modelVersion": version})
        return
    _print_models([model])
    if version is not None:
        print()
        _print_versions([version])


def list_models(args: argparse.Namespace) -> None:
    names = [name.strip() for name in (args.workspace_names or "").split(",")]
    params = {
        "sortBy": f"SORT_BY_{args.sort_by.upper()}",
        "orderBy": f"ORDER_BY_{args.order_by.upper()}",
        "workspaceNames": [name for name in names if name] or None,
    }
    models = list(lists.iterate(connect.session(args), "/api/v1/models", "models", params))
    if args.json:
        show.as_json([_with_old_names(model) for model in models])
    else:
        _print_models(models)


def list_versions(args: argparse.Namespace) -> None:
    """Print the versions of a model, the latest first."""
    session = connect.session(args)
    model = session.get(_path(args.name)).json()["model"]
    params = {"orderBy": "ORDER_BY_DESC"}
    path = f"{_path(args.name)}/versions"
    if args.json:
        show.as_json(session.get(path, params=params).json())
        return
    versions = list(lists.iterate(session, path, "modelVersions", params))
    _print_models([model])
    print()
    _print_versions(versions)


def move(args: argparse.Namespace) -> None:
    session = connect.session(args)
    params = {"nameCaseSensitive": args.workspace_name}
    workspaces = session.get("/api/v1/workspaces", params=params).json()["workspaces"]
    if not workspaces:
        raise errors.CliError(f"Did not find a workspace with name {args.workspace_name!r}.")
    body = {"destinationWorkspaceId": workspaces[0]["id"]}
    session.post(f"{_path(args.name)}/move", json=body)
    print(f"Moved model {args.name} to workspace {args.workspace_name}")


def register_version(args: argparse.Namespace) -> None:
    session = connect.session(args)
    model = session.get(_path(args.name)).json()["model"]
    body = {"checkpointUuid": args.uuid, "modelName": args.name}
    answer = session.post(f"{_path(args.name)}/versions", json=body)
    version = answer.json()["modelVersion"]
    if args.json:
        show.as_json(answer.json())
        return
    _print_models([version.get("model") or model])
    print()
    _print_versions([version])


def _with_old_names(model: Dict[str, Any]) -> Dict[str, Any]:
    """A model with its times under the names of 0.38.1 as well, which scripts read."""
    times = {"creation_time": "creationTime", "last_updated_time": "lastUpdatedTime"}
    older = {name: f"{model[camel][:19]}+00:00" for name, camel in times.items()}
    return {**model, **older}


def _path(name: str) -> str:
    return f"/api/v1/models/{quote(name, safe='')}"


def _version(session: BaseSession, name: str, number: int) -> Any:
    """One version, -1 for the latest; None for a model without versions."""
    if number != -1:
        try:
            return session.get(f"{_path(name)}/versions/{number}").json()["modelVersion"]
        except api_errors.NotFoundException as error:
            raise errors.CliError(str(error)) from None
    params = {"limit": 1, "orderBy": "ORDER_BY_DESC", "sortBy": "SORT_BY_VERSION"}
    versions: List[Any] = session.get(f"{_path(name)}/versions", params=params).json()[
        "modelVersions"
    ]
    return versions[0] if versions else None


def _print_models(models: Sequence[Dict[str, Any]]) -> None:
    rows = [
        [
            model["id"],
            model["name"],
            model["workspaceId"],
            show.instant(model["creationTime"]),
            show.instant(model["lastUpdatedTime"]),
            show.block(model["metadata"]) if model["metadata"] else "",
            ", ".join(model["labels"]),
            model["archived"],
        ]
        for model in models
    ]
    show.table(_MODEL_HEADERS, rows)


def _print_versions(versions: Sequence[Dict[str, Any]]) -> None:
    rows = []
    for version in versions:
        checkpoint = version["checkpoint"]
        training = checkpoint["training"]
        validation = (training.get("validationMetrics") or {}).get("avgMetrics")
        rows.append(
            [
                version["version"],
                training.get("trialId"),
                (checkpoint["metadata"] or {}).get("steps_completed"),
                checkpoint["uuid"],
                show.block(validation) if validation else "",
                show.block(version["metadata"]) if version["metadata"] else "",
            ]
        )
    show.table(_VERSION_HEADERS, rows)
