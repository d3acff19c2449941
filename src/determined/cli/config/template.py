"""`det template`: named config templates that experiments and tasks apply."""

from __future__ import annotations

import argparse
from typing import Any, Dict
from urllib.parse import quote

from determined.cli import connect
from determined.cli.config import config_file
from determined.cli.declare import Command, arg, flag
from determined.cli.output import show
from determined.cli.workspace import lookup
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors

_HERE = "determined.cli.config.template"
_NAME = arg("template_name", help="template name")
_JSON = flag("--json", help="print as JSON")
_FILE = arg("template_file", help="config template file (.yaml)")

NOUN = Command(
    "template|tpl",
    "manage config templates",
    commands=(
        Command(
            "create",
            "create config template",
            f"{_HERE}:create",
            (
                _NAME,
                _FILE,
                arg("-w", "--workspace-name", help="workspace the template belongs to"),
            ),
        ),
        Command("describe", "describe config template", f"{_HERE}:describe", (_NAME, _JSON)),
        Command(
            "list|ls",
            "list config templates",
            f"{_HERE}:list_templates",
            (flag("-d", "--details", help="show the configs of the templates"), _JSON),
            is_default=True,
        ),
        Command("remove|rm", "remove config template", f"{_HERE}:remove", (_NAME,)),
        Command("set", "set config template", f"{_HERE}:set_template", (_NAME, _FILE)),
        Command(
            "set-value",
            "change a value of a config template",
            commands=(
                Command(
                    "config",
                    "replace the config of a config template",
                    f"{_HERE}:set_config",
                    (_NAME, _FILE),
                ),
            ),
        ),
    ),
)


def create(args: argparse.Namespace) -> None:
    config = config_file.load(args.template_file, "template file")
    session = connect.session(args)
    workspace_id = (
        lookup.workspace(session, args.workspace_name)["id"] if args.workspace_name else 0
    )
    _post(session, args.template_name, config, workspace_id)
    print(f"Created template {args.template_name}")


def describe(args: argparse.Namespace) -> None:
    template = connect.session(args).get(_path(args.template_name)).json()["template"]
    if args.json:
        show.as_json(template)
        return
    show.as_yaml(template["config"])


def list_templates(args: argparse.Namespace) -> None:
    session = connect.session(args)
    names = _workspace_names(session)
    headers = ["Name", "Workspace"] + (["Config"] if args.details else [])
    rows = []
    templates = session.get("/api/v1/templates").json()["templates"]
    if args.json:
        show.as_json(templates)
        return
    for item in templates:
        number = item["workspaceId"]
        row = [item["name"], names.get(number, f"missing workspace id {number}")]
        rows.append(row + ([show.block(item["config"])] if args.details else []))
    show.table(headers, rows)


def remove(args: argparse.Namespace) -> None:
    connect.session(args).delete(_path(args.template_name))
    print(f"Removed template {args.template_name}")


def set_template(args: argparse.Namespace) -> None:
    """Create a template, or replace the one of that name."""
    config = config_file.load(args.template_file, "template file")
    session = connect.session(args)
    try:
        session.get(_path(args.template_name))
    except api_errors.NotFoundException:
        _post(session, args.template_name, config, 0)
    else:
        session.patch(_path(args.template_name), json=config)
    print(f"Set template {args.template_name}")


def set_config(args: argparse.Namespace) -> None:
    """Replace the config of an existing template."""
    config = config_file.load(args.template_file, "template file")
    connect.session(args).patch(_path(args.template_name), json=config)
    print(f"Set template {args.template_name}")


def _path(name: str) -> str:
    return f"/api/v1/templates/{quote(name, safe='')}"


def _post(session: BaseSession, name: str, config: Any, workspace_id: int) -> None:
    body = {"name": name, "config": config, "workspaceId": workspace_id}
    session.post(_path(name), json=body)


def _workspace_names(session: BaseSession) -> Dict[int, str]:
    workspaces = session.get("/api/v1/workspaces").json()["workspaces"]
    return {item["id"]: item["name"] for item in workspaces}
