"""`det config-policies`: what admins decide over the heads of users."""

from __future__ import annotations

import argparse
from typing import Any, Tuple

from determined.cli import connect
from determined.cli.config import config_file
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import show
from determined.cli.workspace import lookup
from determined.common.api import BaseSession

_HERE = "determined.cli.config.config_policies"
_WORKLOADS = {"experiment": "EXPERIMENT", "tasks": "NTSC"}
_WORKLOAD = arg(
    "workload_type",
    choices=list(_WORKLOADS),
    help="what the policies are about: experiments, or notebooks, TensorBoards, shells, commands "
    "and generic tasks",
)
_WORKSPACE = arg(
    "-w", "--workspace-name", help="workspace that they hold for; the whole cluster if not given"
)

NOUN = Command(
    "config-policies|cp",
    "manage config policies",
    commands=(
        Command(
            "describe",
            "display config policies",
            f"{_HERE}:describe",
            (
                _WORKLOAD,
                _WORKSPACE,
                OneOf(
                    (
                        flag("--json", help="print in JSON format"),
                        flag("--yaml", help="print in YAML format, as if not given"),
                    )
                ),
            ),
        ),
        Command(
            "set",
            "set config policies",
            f"{_HERE}:set_policies",
            (_WORKLOAD, arg("config_file", help="config policies (.yaml or .json)"), _WORKSPACE),
        ),
        Command("delete", "delete config policies", f"{_HERE}:delete", (_WORKLOAD, _WORKSPACE)),
    ),
)


def describe(args: argparse.Namespace) -> None:
    """Print the policies of the cluster or of a workspace."""
    session = connect.session(args)
    path, whose = _target(session, args)
    found = session.get(path).json().get("configPolicies")
    if not found and not args.json:
        print(f"No {args.workload_type} config policies are set for {whose}")
        return
    _show(found, args.json)


def set_policies(args: argparse.Namespace) -> None:
    """Set policies in place of all that were set."""
    text = config_file.read(args.config_file)
    session = connect.session(args)
    path, whose = _target(session, args)
    stored = session.put(path, json={"configPolicies": text}).json()["configPolicies"]
    print(f"Set {args.workload_type} config policies for {whose}:")
    show.as_yaml(stored)


def delete(args: argparse.Namespace) -> None:
    """Forget the policies of the cluster or of a workspace."""
    session = connect.session(args)
    path, whose = _target(session, args)
    session.delete(path)
    print(f"Deleted {args.workload_type} config policies of {whose}")


def _target(session: BaseSession, args: argparse.Namespace) -> Tuple[str, str]:
    """The path of the policies, and whose they are."""
    workload = _WORKLOADS[args.workload_type]
    if args.workspace_name is None:
        return f"/api/v1/config-policies/global/{workload}", "the cluster"
    number = lookup.workspace(session, args.workspace_name)["id"]
    path = f"/api/v1/config-policies/workspaces/{number}/{workload}"
    return path, f"workspace '{args.workspace_name}'"


def _show(found: Any, as_json: bool) -> None:
    if as_json:
        show.as_json(found or {})
    else:
        show.as_yaml(found)
