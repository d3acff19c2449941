"""Finds workspaces and projects by name."""

from __future__ import annotations

from typing import Any, Dict

from determined.cli import errors
from determined.common.api import BaseSession


def workspace(session: BaseSession, name: str) -> Dict[str, Any]:
    """The workspace of that name.

    Raises:
        CliError: it does not exist; the text lists the existing ones.
    """
    path = "/api/v1/workspaces"
    workspaces = session.get(path, params={"nameCaseSensitive": name}).json()["workspaces"]
    if not workspaces:
        there = [w["name"] for w in session.get(path).json()["workspaces"]]
        raise errors.CliError(f"there is no workspace '{name}'; there are: {_list(there)}")
    result: Dict[str, Any] = workspaces[0]
    return result


def project(session: BaseSession, workspace_name: str, name: str) -> Dict[str, Any]:
    """The project of that name in the workspace of that name.

    Raises:
        CliError: one of them does not exist; the text lists the existing ones.
    """
    path = f"/api/v1/workspaces/{workspace(session, workspace_name)['id']}/projects"
    projects = session.get(path, params={"name": name}).json()["projects"]
    if not projects:
        there = [p["name"] for p in session.get(path).json()["projects"]]
        raise errors.CliError(
            f"workspace '{workspace_name}' has no project '{name}'; it has: {_list(there)}"
        )
    result: Dict[str, Any] = projects[0]
    return result


def _list(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names[:20]) or "none"
