"""Access to the services of tasks, by the kind of the task."""

from __future__ import annotations

from determined_master.domain.access.rules import Action, Caller
from determined_master.services.access.guard import Claim, Guard
from determined_master.services.tasks.proxies import Proxies, ServiceTarget, unknown
from determined_master.services.tasks.service import Tasks
from determined_master.services.tasks.shares import TaskShares


class ServiceAccess:
    """Decides by kind.

    A TensorBoard and a page of a trial are open to those who may see the task, other pages to
    those who may control it. A notebook and a shell are open to their owner, admins and those
    with whom they are shared, to nobody else: whoever has copied the token or key could enter.
    """

    def __init__(self, proxies: Proxies, guard: Guard, tasks: Tasks, shares: TaskShares) -> None:
        self._proxies = proxies
        self._guard = guard
        self._tasks = tasks
        self._shares = shares

    async def check(self, target: ServiceTarget, caller: Caller) -> None:
        """Do nothing when the caller may use the service. Raises NotFound."""
        self._proxies.check(caller, target.service_id, target)
        action: Action = "read" if target.is_only_shown else "control"
        if await self._can(caller, target, action) and await self._is_admitted(caller, target):
            return
        if (
            target.is_shared_by_name
            and await self._can(caller, target, "read")
            and await self._shares.lets_in(caller, target.task_id)
        ):
            return
        raise unknown(target.service_id)

    async def _can(self, caller: Caller, target: ServiceTarget, action: Action) -> bool:
        return await self._guard.can(caller, Claim("task", [target.task_id], action, "task"))

    async def _is_admitted(self, caller: Caller, target: ServiceTarget) -> bool:
        """Whether control of the task is enough; for a notebook or a shell it is not."""
        if not target.is_shared_by_name or caller.is_admin:
            return True
        return await self._tasks.is_owner(caller.user_id, target.task_id)
