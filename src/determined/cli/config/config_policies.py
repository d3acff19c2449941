"""`det config-policies`: config policies of the cluster and of workspaces."""

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
    help="the workloads that the policies apply to: experiments, or tasks (notebooks, "
    "TensorBoards, shells, commands and generic tasks)",
)
_WORKSPACE = arg(
    "-w", "--workspace-name", help="workspace that they apply to (default: the whole cluster)"
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
                        flag("--yaml", help="print in YAML format (the default)"),
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
    path, scope = _target(session, args)
    policies = session.get(path).json().get("configPolicies")
    if not policies and not args.json:
        print(f"No {args.workload_type} config policies are set for {scope}")
        return
    _show(policies, args.json)


def set_policies(args: argparse.Namespace) -> None:
    """Replace the policies of the cluster or of a workspace."""
    text = config_file.read(args.config_file)
    session = connect.session(args)
    path, scope = _target(session, args)
    stored = session.put(path, json={"configPolicies": text}).json()["configPolicies"]
    print(f"Set {args.workload_type} config policies for {scope}:")
    show.as_yaml(stored)


def delete(args: argparse.Namespace) -> None:
    session = connect.session(args)
    path, scope = _target(session, args)
    session.delete(path)
    print(f"Deleted {args.workload_type} config policies of {scope}")


def _target(session: BaseSession, args: argparse.Namespace) -> Tuple[str, str]:
    """The route of the policies, and the name of their scope."""
    workload = _WORKLOADS[args.workload_type]
    if args.workspace_name is None:
        return f"/api/v1/config-policies/global/{workload}", "the cluster"
    number = lookup.workspace(session, args.workspace_name)["id"]
    path = f"/api/v1/config-policies/workspaces/{number}/{workload}"
    return path, f"workspace '{args.workspace_name}'"


def _show(policies: Any, as_json: bool) -> None:
    if as_json:
        show.as_json(policies or {})
    else:
        show.as_yaml(policies)
