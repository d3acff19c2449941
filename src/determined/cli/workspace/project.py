"""`det project`: projects, which group experiments in a workspace."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import connect, errors, pagination
from determined.cli.arguments import YES, confirm
from determined.cli.declare import Command, arg, flag
from determined.cli.experiment import display
from determined.cli.output import full_json, show
from determined.cli.workspace import lookup

_HERE = "determined.cli.workspace.project"
_JSON = flag("--json", help="Output in JSON format")
_WORKSPACE = arg("workspace_name", help="name of the workspace")
_PROJECT = arg("project_name", help="name of the project")
_DESCRIPTION = arg("--description", help="description of the project")
_KEY = arg("--key", help="key of the project, up to five letters and digits")
_ALL_EXPERIMENTS = flag(
    "--all", "-a", help="show all experiments (also archived and other users')"
)
SORTED = (
    arg("--sort-by", choices=("id", "name"), default="id", help="the column to sort by"),
    arg("--order-by", choices=("asc", "desc"), default="asc", help="sort order"),
    arg("--limit", type=int, default=200, help="Maximum items per page of results"),
    arg("--offset", type=int, help="Number of items to skip before the first one shown"),
    _JSON,
)

NOUN = Command(
    "project|p",
    "manage projects",
    commands=(
        Command("archive", "archive project", f"{_HERE}:archive", (_WORKSPACE, _PROJECT)),
        Command(
            "create",
            "create project",
            f"{_HERE}:create",
            (
                _WORKSPACE,
                arg("name", help="name of the new project"),
                _DESCRIPTION,
                _KEY,
                _JSON,
            ),
        ),
        Command("delete", "delete project", f"{_HERE}:delete", (_WORKSPACE, _PROJECT, YES)),
        Command(
            "describe",
            "describe project",
            f"{_HERE}:describe",
            (_WORKSPACE, _PROJECT, _ALL_EXPERIMENTS, _JSON),
        ),
        Command(
            "edit",
            "edit project",
            f"{_HERE}:edit",
            (
                _WORKSPACE,
                _PROJECT,
                arg("--new_name", help="new name of the project"),
                _DESCRIPTION,
                _KEY,
                _JSON,
            ),
        ),
        Command(
            "list|ls",
            "list the projects of a workspace",
            f"{_HERE}:list_projects",
            (_WORKSPACE, *SORTED),
            is_default=True,
        ),
        Command(
            "list-experiments",
            "list the experiments of a project",
            f"{_HERE}:list_experiments",
            (_WORKSPACE, _PROJECT, _ALL_EXPERIMENTS, *SORTED),
        ),
        Command("unarchive", "unarchive project", f"{_HERE}:unarchive", (_WORKSPACE, _PROJECT)),
    ),
)

_HEADERS = (
    "ID",
    "Key",
    "Name",
    "Description",
    "# Experiments",
    "# Active Experiments",
    "Last Experiment",
    "Owner",
    "Archived",
)


def list_projects(args: argparse.Namespace) -> None:
    session = connect.session(args)
    path = f"/api/v1/workspaces/{lookup.workspace(session, args.workspace_name)['id']}/projects"
    projects = pagination.fetch(session, path, "projects", sorting(args), "1")
    if args.json:
        show.as_json(full_json.completed("Project", projects))
    else:
        table(projects)


def list_experiments(args: argparse.Namespace) -> None:
    """Print the user's own experiments in a project that are not archived, or all."""
    session = connect.session(args)
    project = lookup.project(session, args.workspace_name, args.project_name)
    experiments = _experiments(session, project, args.all, sorting(args))
    if args.json:
        show.as_json(full_json.completed("Experiment", experiments))
    else:
        display.table(experiments, with_archived=args.all)


def describe(args: argparse.Namespace) -> None:
    session = connect.session(args)
    project = lookup.project(session, args.workspace_name, args.project_name)
    if args.json:
        show.as_json(project)
        return
    show.table(_HEADERS, [_row(project)])
    print("\nAssociated Experiments:")
    experiments = _experiments(session, project, args.all, {"sortBy": "SORT_BY_ID"}, "all")
    display.table(experiments, with_archived=args.all)


def create(args: argparse.Namespace) -> None:
    session = connect.session(args)
    workspace_id = lookup.workspace(session, args.workspace_name)["id"]
    body = {
        "name": args.name,
        "workspaceId": workspace_id,
        "description": args.description,
        "key": args.key,
    }
    path = f"/api/v1/workspaces/{workspace_id}/projects"
    _show(args, session.post(path, json=body).json()["project"])


def edit(args: argparse.Namespace) -> None:
    """Change a project.

    Raises:
        CliError: no option is given.
    """
    fields = {"name": args.new_name, "description": args.description, "key": args.key}
    changes = {name: value for name, value in fields.items() if value is not None}
    if not changes:
        raise errors.CliError("nothing to change: give --new_name, --description or --key")
    session = connect.session(args)
    project = lookup.project(session, args.workspace_name, args.project_name)
    answer = session.patch(f"/api/v1/projects/{project['id']}", json=changes).json()
    _show(args, answer["project"])


def archive(args: argparse.Namespace) -> None:
    """Hide a project from lists."""
    _act(args, "archive", "Archived")


def unarchive(args: argparse.Namespace) -> None:
    """Show an archived project in lists again."""
    _act(args, "unarchive", "Unarchived")


def delete(args: argparse.Namespace) -> None:
    """Delete a project with all of its experiments."""
    session = connect.session(args)
    project = lookup.project(session, args.workspace_name, args.project_name)
    confirm(
        args,
        f"Deleting project '{project['name']}' deletes its {project['numExperiments']} "
        "experiment(s) with their results, logs and checkpoints for good. "
        "Do you still want to proceed?",
    )
    answer = session.delete(f"/api/v1/projects/{project['id']}").json()
    said = "Deleted project" if answer["completed"] else "Started to delete project"
    print(f"{said} '{project['name']}'")


def sorting(args: argparse.Namespace) -> Dict[str, Any]:
    """The request parameters for the options of `SORTED`."""
    return {
        "limit": args.limit,
        "offset": args.offset,
        "sortBy": f"SORT_BY_{args.sort_by.upper()}",
        "orderBy": f"ORDER_BY_{args.order_by.upper()}",
    }


def table(projects: List[Dict[str, Any]]) -> None:
    show.table(_HEADERS, [_row(project) for project in projects])


def _act(args: argparse.Namespace, action: str, done: str) -> None:
    session = connect.session(args)
    project = lookup.project(session, args.workspace_name, args.project_name)
    session.post(f"/api/v1/projects/{project['id']}/{action}")
    print(f"{done} project '{project['name']}' in workspace '{args.workspace_name}'")


def _experiments(
    session: Any, project: Any, with_all: bool, params: Dict[str, Any], which: str = "1"
) -> List[Dict[str, Any]]:
    query = {**params, "projectId": project["id"]}
    if not with_all:
        query.update(archived=False, users=[display.own_name(session)])
    return pagination.fetch(session, "/api/v1/experiments", "experiments", query, which)


def _show(args: argparse.Namespace, project: Dict[str, Any]) -> None:
    if args.json:
        show.as_json(project)
    else:
        table([project])


def _row(project: Dict[str, Any]) -> List[Any]:
    return [
        project["id"],
        project["key"],
        project["name"],
        project["description"],
        project["numExperiments"],
        project["numActiveExperiments"],
        show.instant(project["lastExperimentStartedAt"]),
        project["username"],
        project["archived"],
    ]
