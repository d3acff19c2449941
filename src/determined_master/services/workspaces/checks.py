"""Projects and workspaces for new things: checks that they are open, and locks them.

A project may be deleted, archived or moved after its check, when a task is stored, so it is locked
in that transaction. The rows are locked as a reference to them would lock them: a deletion waits
for the task, and sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain.errors import Aborted, FailedPrecondition, NotFound
from determined_master.store.workspaces import projects

if TYPE_CHECKING:
    from determined_master.store.db import Conn
    from determined_master.store.workspaces.projects import ProjectRef


async def hold_project(conn: Conn, place: ProjectRef) -> None:
    """Keep a project, and its workspace, where they were found.

    Raises:
        NotFound: it was deleted in the meantime.
        FailedPrecondition: it, or its workspace, was archived or is being deleted.
        Aborted: it was moved to another workspace, whose settings may be others.
    """
    held = await projects.find_place(conn, place.project_id, is_held=True)
    if held is None:
        raise NotFound(f"project '{place.project_id}' not found")
    check_place(held)
    if held.workspace_id != place.workspace_id:
        raise Aborted(
            f"project '{held.project_name}' was moved to another workspace meanwhile: "
            "send the same request again"
        )


async def hold_workspace(conn: Conn, workspace_id: int) -> None:
    """Keep a workspace.

    Raises:
        NotFound: it was deleted in the meantime.
        FailedPrecondition: it was archived, or is being deleted.
    """
    check_workspace(
        workspace_id, await projects.find_workspace_place(conn, workspace_id, is_held=True)
    )


def check_workspace(workspace_id: int, place: ProjectRef | None) -> ProjectRef:
    """The place of a workspace's tasks.

    Raises:
        NotFound: there is no such workspace, or it is archived.
        FailedPrecondition: it is being deleted.
    """
    if place is None:
        raise NotFound(f"workspace '{workspace_id}' not found")
    if place.is_archived and not place.is_leaving:
        raise NotFound(f"workspace '{workspace_id}' is archived: unarchive it first")
    check_open(f"workspace '{workspace_id}'", False, "DELETING" if place.is_leaving else "")
    return place


def check_place(place: ProjectRef) -> None:
    """Do nothing when experiments may be put there.

    Raises:
        FailedPrecondition: the project or its workspace is archived, or is being deleted.
    """
    state = "DELETING" if place.is_leaving else ""
    check_open(f"project '{place.project_name}'", place.is_archived, state)


def check_open(thing: str, is_archived: bool, state: str) -> None:
    """Do nothing when something may be put there.

    Raises:
        FailedPrecondition: it is archived, or is being deleted.
    """
    if state == "DELETING":
        raise FailedPrecondition(f"{thing} is being deleted: choose another one")
    if is_archived:
        raise FailedPrecondition(f"{thing} is archived: unarchive it first")
