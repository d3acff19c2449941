"""`det workspace`: workspaces, with their defaults, members and pools."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, Optional

from determined.cli import connect, errors, pagination
from determined.cli.arguments import YES
from determined.cli.config import config_file
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import full_json, show
from determined.cli.workspace import lookup, namespaces, project
from determined.common import config_text

_HERE = "determined.cli.workspace.commands"
_JSON = flag("--json", help="Output in JSON format")
_NAME = arg("workspace_name", help="name of the workspace")
_SETTINGS = (
    arg("--agent-uid", type=int, help="user id on agents of tasks in the workspace"),
    arg("--agent-user", help="user on agents of tasks in the workspace"),
    arg("--agent-gid", type=int, help="group id on agents of tasks in the workspace"),
    arg("--agent-group", help="group on agents of tasks in the workspace"),
    OneOf(
        (
            arg(
                "--checkpoint-storage-config",
                type=str,
                help="checkpoint storage of the workspace, as JSON or YAML; {} for none",
            ),
            arg("--checkpoint-storage-config-file", help="the same as a file"),
        )
    ),
    arg("--default-compute-pool", help="resource pool of tasks with slots"),
    arg("--default-aux-pool", help="resource pool of tasks without slots"),
    _JSON,
)

NOUN = Command(
    "workspace|w",
    "manage workspaces",
    commands=(
        Command("archive", "archive workspace", f"{_HERE}:archive", (_NAME,)),
        namespaces.BINDINGS,
        Command(
            "create",
            "create workspace",
            f"{_HERE}:create",
            (
                arg("name", help="name of the new workspace"),
                *_SETTINGS,
                *namespaces.OF_NEW_WORKSPACES,
            ),
        ),
        Command(
            "delete", "delete workspace", "determined.cli.workspace.deletion:delete", (_NAME, YES)
        ),
        Command("describe", "describe workspace", f"{_HERE}:describe", (_NAME, _JSON)),
        Command(
            "edit",
            "edit workspace",
            f"{_HERE}:edit",
            (_NAME, arg("--name", help="new name of the workspace"), *_SETTINGS),
        ),
        Command(
            "list|ls",
            "list workspaces",
            f"{_HERE}:list_workspaces",
            project.SORTED,
            is_default=True,
        ),
        Command(
            "list-members",
            "list the members of a workspace and their roles",
            "determined.cli.user.rbac:list_members",
            (
                _NAME,
                OneOf(
                    (
                        _JSON,
                        flag("--yaml", help="Output in YAML format"),
                        flag("--csv", help="Output in CSV format"),
                    )
                ),
            ),
        ),
        Command(
            "list-pools",
            "list the resource pools that a workspace may use",
            f"{_HERE}:list_pools",
            (_NAME, _JSON),
        ),
        Command(
            "list-projects",
            "list the projects of a workspace",
            "determined.cli.workspace.project:list_projects",
            (_NAME, *project.SORTED),
        ),
        namespaces.QUOTAS,
        Command("unarchive", "unarchive workspace", f"{_HERE}:unarchive", (_NAME,)),
    ),
)

_HEADERS = (
    "ID",
    "Name",
    "# Projects",
    "# Experiments",
    "Owner",
    "Archived",
    "Agent Uid",
    "Agent Gid",
    "Agent User",
    "Agent Group",
    "Default Compute Pool",
    "Default Aux Pool",
)


def list_workspaces(args: argparse.Namespace) -> None:
    session = connect.session(args)
    path, params = "/api/v1/workspaces", project.sorting(args)
    workspaces = pagination.fetch(session, path, "workspaces", params, "1")
    if args.json:
        show.as_json(full_json.completed("Workspace", workspaces))
    else:
        _table(workspaces)


def list_pools(args: argparse.Namespace) -> None:
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    answer = session.get(f"/api/v1/workspaces/{number}/available-resource-pools").json()
    if args.json:
        show.as_json(answer["resourcePools"])
        return
    pools = ", ".join(answer["resourcePools"])
    show.table(("Workspace", "Available Resource Pools"), [[args.workspace_name, pools]])


def describe(args: argparse.Namespace) -> None:
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    workspace = session.get(f"/api/v1/workspaces/{number}").json()["workspace"]
    if args.json:
        show.as_json(full_json.completed("Workspace", workspace))
        return
    _table([workspace])
    if workspace.get("checkpointStorageConfig"):
        print("\nCheckpoint Storage:")
        show.as_yaml(workspace["checkpointStorageConfig"])
    print("\nAssociated Projects:")
    path = f"/api/v1/workspaces/{number}/projects"
    project.table(pagination.fetch(session, path, "projects", {}))


def create(args: argparse.Namespace) -> None:
    body = {"name": args.name, **_settings(args), **namespaces.of_new_workspace(args)}
    answer = connect.session(args).post("/api/v1/workspaces", json=body).json()
    _show(args, answer["workspace"])


def edit(args: argparse.Namespace) -> None:
    """Change a workspace.

    Raises:
        CliError: no option is given.
    """
    changes = _settings(args)
    if args.name is not None:
        changes["name"] = args.name
    for pool in ("Compute", "Aux"):  # the wire name that accepts an empty pool
        if f"default{pool}Pool" in changes:
            changes[f"default{pool}ResourcePool"] = changes[f"default{pool}Pool"]
    if not changes:
        raise errors.CliError("nothing to change: give --name or a setting")
    session = connect.session(args)
    number = lookup.workspace(session, args.workspace_name)["id"]
    answer = session.patch(f"/api/v1/workspaces/{number}", json=changes).json()
    _show(args, answer["workspace"])


def archive(args: argparse.Namespace) -> None:
    """Hide a workspace and its contents from lists."""
    _act(args, "archive", "Archived")


def unarchive(args: argparse.Namespace) -> None:
    """Show an archived workspace in lists again."""
    _act(args, "unarchive", "Unarchived")


def _act(args: argparse.Namespace, action: str, done: str) -> None:
    session = connect.session(args)
    workspace = lookup.workspace(session, args.workspace_name)
    session.post(f"/api/v1/workspaces/{workspace['id']}/{action}")
    print(f"{done} workspace '{workspace['name']}'")


def _settings(args: argparse.Namespace) -> Dict[str, Any]:
    """The given settings, in the form of the REST API."""
    body: Dict[str, Any] = {}
    agent = {
        "agentUid": args.agent_uid,
        "agentUser": args.agent_user,
        "agentGid": args.agent_gid,
        "agentGroup": args.agent_group,
    }
    if any(value is not None for value in agent.values()):
        body["agentUserGroup"] = {k: v for k, v in agent.items() if v is not None}
    storage = _storage(args)
    if storage is not None:
        body["checkpointStorageConfig"] = storage
    if args.default_compute_pool is not None:
        body["defaultComputePool"] = args.default_compute_pool
    if args.default_aux_pool is not None:
        body["defaultAuxPool"] = args.default_aux_pool
    return body


def _storage(args: argparse.Namespace) -> Optional[Dict[str, Any]]:
    text, name = args.checkpoint_storage_config, "--checkpoint-storage-config"
    try:
        if args.checkpoint_storage_config_file is not None:
            name = args.checkpoint_storage_config_file
            text = config_file.read(name, "storage config file")
        if text is None:
            return None
        config: Dict[str, Any] = config_text.plain(config_text.load(text, name), name)
        return config
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None


def _show(args: argparse.Namespace, workspace: Dict[str, Any]) -> None:
    if args.json:
        show.as_json(full_json.completed("Workspace", workspace))
    else:
        _table([workspace])


def _table(workspaces: List[Dict[str, Any]]) -> None:
    rows = []
    for workspace in workspaces:
        agent = workspace.get("agentUserGroup") or {}
        rows.append(
            [
                workspace["id"],
                workspace["name"],
                workspace["numProjects"],
                workspace["numExperiments"],
                workspace["username"],
                workspace["archived"],
                agent.get("agentUid"),
                agent.get("agentGid"),
                agent.get("agentUser"),
                agent.get("agentGroup"),
                workspace["defaultComputePool"],
                workspace["defaultAuxPool"],
            ]
        )
    show.table(_HEADERS, rows)
