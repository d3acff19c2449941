"""Use cases of project visits: the projects that a user opened last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.records.workspaces import ProjectRow
from determined_master.store.workspaces import visits as rows
from determined_master.store.workspaces.projects import list_projects

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller

MAX_VISITED = 100


class ProjectVisits:
    """Visits of all users."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def record(self, caller: Caller, project_id: int) -> None:
        """Note that the caller has opened a project. Raises NotFound."""
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            if not await rows.upsert_visit(conn, caller.user_id, project_id, clock.now()):
                raise NotFound(f"project '{project_id}' not found")

    async def list_last(self, caller: Caller, limit: int) -> list[ProjectRow]:
        """The projects that the caller opened last and still sees, the last first.

        Args:
            caller: the caller.
            limit: at most `MAX_VISITED`; 0 stands for it.

        Raises:
            InvalidArgument: a limit below 0.
        """
        access.may(caller, "read", "project")
        if limit < 0:
            raise InvalidArgument(f"limit is {limit}: it must be 0 or more")
        async with self._db.acquire() as conn:
            ids = await rows.list_visited_ids(
                conn,
                caller.user_id,
                min(limit or MAX_VISITED, MAX_VISITED),
                among=access.visible(caller, "project"),
            )
            found = {row.id: row for row in await list_projects(conn, ids=ids)}
        return [found[i] for i in ids if i in found]
