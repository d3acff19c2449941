"""Access to the terminals of shells in browsers, and the limits of their number."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.errors import NotFound, PermissionDenied, ResourceExhausted
from determined_master.domain.task.ssh_files import KeyPair
from determined_master.services.tasks.proxies import ServiceTarget

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.tasks import InteractiveRow
    from determined_master.services.tasks.interactive_tasks import InteractiveTasks
    from determined_master.services.tasks.proxies import Proxies
    from determined_master.services.tasks.service_access import ServiceAccess

MAX_TERMINALS = 500
MAX_TERMINALS_OF_USER = 32


class ShellDoor(msgspec.Struct, frozen=True):
    """What a terminal needs to enter a shell."""

    row: InteractiveRow
    target: ServiceTarget
    """Its ssh server."""
    keys: KeyPair
    """One pair is the key of the user and of the server."""
    user: str
    """The account of the shell's user; an agent may run all tasks as another one."""


class Terminals:
    """The open terminals of all shells. Those whom `det shell open` admits open one."""

    def __init__(self, tasks: InteractiveTasks, proxies: Proxies, services: ServiceAccess) -> None:
        self._tasks = tasks
        self._proxies = proxies
        self._services = services
        self._of_user: Counter[int] = Counter()

    async def door(self, caller: Caller, task_id: str) -> ShellDoor:
        """The way into a running shell.

        Raises:
            NotFound: there is no such shell, it does not run, or it is not the caller's to see.
            PermissionDenied: the caller may see the shell but not enter it.
        """
        row = await self._tasks.get(caller, "SHELL", task_id)
        target = self._proxies.find(task_id)
        if target is None:
            raise NotFound(
                f"shell '{task_id}' does not run (yet, or any more): open its terminal when its "
                "state is RUNNING"
            )
        await self.check(caller, row, target)
        keys, user = await self._tasks.secrets.ssh_keys(row.id), await self._tasks.agent_user(row)
        self._proxies.note_request(target)
        return ShellDoor(row, target, keys, user.user)

    async def check(self, caller: Caller, row: InteractiveRow, target: ServiceTarget) -> None:
        """Do nothing when the caller may be in the shell now. Raises as `door`."""
        await self._services.check(target, caller)
        if not await self._tasks.may_enter(caller, row):
            raise PermissionDenied(
                f"only the owner of shell '{row.id}' and those with whom it is shared may open "
                f"its terminal: run det shell share {row.id} --user {caller.username}"
            )

    @contextlib.contextmanager
    def place(self, user_id: int, username: str) -> Iterator[None]:
        """Count a terminal of a user while it is open.

        Raises:
            ResourceExhausted: the user, or all users together, have too many.
        """
        if self._of_user[user_id] >= MAX_TERMINALS_OF_USER:
            raise ResourceExhausted(
                f"user {username} has {MAX_TERMINALS_OF_USER} open terminals, which is the "
                "most: close some"
            )
        if self._of_user.total() >= MAX_TERMINALS:
            raise ResourceExhausted(
                f"{MAX_TERMINALS} terminals are open, which is the most: use det shell open"
            )
        self._of_user[user_id] += 1
        try:
            yield
        finally:
            self._of_user[user_id] -= 1
            if not self._of_user[user_id]:
                del self._of_user[user_id]
