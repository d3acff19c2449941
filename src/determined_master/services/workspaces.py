"""Use cases of workspaces and projects: for now they can only be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain import access
from determined_master.domain.errors import NotFound
from determined_master.store import workspaces as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access import Caller


class Workspaces:
    """The workspaces of the cluster; all experiments are in the first project of the first."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_all(self, caller: Caller) -> list[rows.WorkspaceRow]:
        """All workspaces by id."""
        access.may(caller, "read", "workspace")
        async with self._pool.acquire() as conn:
            return await rows.list_workspaces(conn)

    async def get(self, caller: Caller, workspace_id: int) -> rows.WorkspaceRow:
        """One workspace.

        Raises:
            NotFound: there is none of that id.
        """
        for row in await self.list_all(caller):
            if row.id == workspace_id:
                return row
        raise NotFound(f"workspace '{workspace_id}' not found")

    async def projects(self, caller: Caller, workspace_id: int) -> list[rows.ProjectRow]:
        """The projects of one workspace by id.

        Raises:
            NotFound: there is no such workspace.
        """
        await self.get(caller, workspace_id)
        async with self._pool.acquire() as conn:
            return await rows.list_projects(conn, workspace_id=workspace_id)

    async def project(self, caller: Caller, project_id: int) -> rows.ProjectRow:
        """One project.

        Raises:
            NotFound: there is none of that id.
        """
        access.may(caller, "read", "project")
        async with self._pool.acquire() as conn:
            found = await rows.list_projects(conn, project_id=project_id)
        if not found:
            raise NotFound(f"project '{project_id}' not found")
        return found[0]
