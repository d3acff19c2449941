"""`det workspace delete`: what it ends, the question, the deletion."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import connect
from determined.cli.arguments import confirm
from determined.cli.output import show
from determined.cli.workspace import lookup
from determined.common.api import BaseSession, states

_KINDS = ("command", "notebook", "shell", "tensorboard")
_MAX_NAMED = 10


def delete(args: argparse.Namespace) -> None:
    """Delete a workspace with its projects and all their experiments; what runs is killed."""
    session = connect.session(args)
    workspace = lookup.workspace(session, args.workspace_name)
    name = workspace["name"]
    if not args.yes:
        confirm(
            args,
            f"Deleting workspace '{name}' deletes its {workspace['numProjects']} project(s) and "
            f"{workspace['numExperiments']} experiment(s) with their results, logs and "
            f"checkpoints for good.{_killed(session, workspace)} Do you still want to proceed?",
        )
    answer = session.delete(f"/api/v1/workspaces/{workspace['id']}").json()
    progress = "Deleted workspace" if answer["completed"] else "Started to delete workspace"
    print(f"{progress} '{name}'")


def _killed(session: BaseSession, workspace: Dict[str, Any]) -> str:
    """A sentence about what the deletion kills; empty for nothing."""
    parts = []
    experiments = _experiments(session, workspace) if workspace["numExperiments"] else []
    for noun, ids in (("experiment(s)", experiments), ("task(s)", _tasks(session, workspace))):
        if ids:
            listed = ", ".join(ids[:_MAX_NAMED]) + (" ..." if len(ids) > _MAX_NAMED else "")
            parts.append(f"{len(ids)} {noun} ({listed})")
    return f" It kills what has not ended: {' and '.join(parts)}." if parts else ""


def _experiments(session: BaseSession, workspace: Dict[str, Any]) -> List[str]:
    """The ids of its experiments that have not ended: running, queued and paused ones."""
    projects = session.get(f"/api/v1/workspaces/{workspace['id']}/projects").json()["projects"]
    unended = [f"STATE_{state}" for state in states.UNENDED]
    ids = []
    for project in projects:
        params = {"projectId": project["id"], "states": unended, "limit": -1}
        answer = session.get("/api/v1/experiments", params=params).json()
        ids += [str(experiment["id"]) for experiment in answer["experiments"]]
    return ids


def _tasks(session: BaseSession, workspace: Dict[str, Any]) -> List[str]:
    """The ids of its commands, notebooks, shells and TensorBoards that have not ended."""
    params = {"workspaceId": workspace["id"]}
    return [
        str(task["id"])
        for kind in _KINDS
        for task in session.get(f"/api/v1/{kind}s", params=params).json()[f"{kind}s"]
        if show.state(task["state"]) not in states.ENDED
    ]
