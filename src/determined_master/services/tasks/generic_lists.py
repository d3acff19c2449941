"""Lists of generic tasks: the newest ones, and trees of tasks that started each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.store.tasks import generic_lists as rows
from determined_master.store.tasks import generic_tasks

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.tasks import ListedGenericTask
    from determined_master.store.db import Database

MAX_LISTED = 10_000
DEFAULT_LISTED = 1_000
MAX_TREE = 2_000


class GenericLists:
    """Lists of generic tasks of all users."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def list_newest(self, caller: Caller, limit: int) -> list[ListedGenericTask]:
        """The newest tasks that the caller sees; 0 for `DEFAULT_LISTED`.

        Raises:
            InvalidArgument: the limit is out of bounds.
        """
        access.may(caller, "read", "task")
        if not 0 <= limit <= MAX_LISTED:
            raise InvalidArgument(
                f"limit is {limit}: it must be 1 to {MAX_LISTED}, or 0 for {DEFAULT_LISTED}"
            )
        workspaces = access.visible(caller, "task")
        async with self._db.acquire() as conn:
            return await rows.list_newest(conn, workspaces, limit or DEFAULT_LISTED)

    async def tree(self, caller: Caller, task_id: str) -> list[ListedGenericTask]:
        """The tasks of the tree that a task is in, the oldest first; hidden ones are left out.

        Raises:
            NotFound: there is no such generic task.
        """
        access.may(caller, "read", "task")
        async with self._db.acquire() as conn:
            root = await generic_tasks.find_root(conn, task_id)
            found = await rows.list_tree(conn, root, access.visible(caller, "task"), MAX_TREE)
        if all(row.id != task_id for row in found):
            raise NotFound(f"task '{task_id}' not found, or it is no generic task")
        return found
