"""Use cases of tasks whatever their type: counting, showing and ending them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from determined_master.domain.access import rules as access
from determined_master.domain.config.masking import mask_config
from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.task.kinds import TASK_KINDS

if TYPE_CHECKING:
    from collections.abc import Collection

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.services.access.guard import Guard
    from determined_master.services.experiments.service import Experiments
    from determined_master.services.experiments.trials import Trials
    from determined_master.services.tasks.allocations import Allocations
    from determined_master.services.tasks.generic_tasks import GenericTasks
    from determined_master.services.tasks.interactive_tasks import InteractiveTasks
    from determined_master.services.tasks.service import Tasks


class TaskControl:
    """Controls tasks through the things that they belong to."""

    def __init__(
        self,
        tasks: Tasks,
        trials: Trials,
        experiments: Experiments,
        generic: GenericTasks,
        interactive: InteractiveTasks,
        guard: Guard,
        allocations: Allocations,
    ) -> None:
        self._tasks = tasks
        self._trials = trials
        self._experiments = experiments
        self._generic = generic
        self._interactive = interactive
        self._guard = guard
        self._allocations = allocations

    async def count_active(
        self, caller: Caller, allocations: Collection[Allocation]
    ) -> Counter[str]:
        """The number of these allocations of each type of task, of tasks that the caller sees."""
        access.may(caller, "read", "task")
        seen = await self._guard.seen(caller, "allocation", [a.id for a in allocations])
        return Counter(a.request.task_type for a in allocations if a.id in seen)

    async def config(self, caller: Caller, task_id: str) -> dict[str, Any]:
        """The configuration that a task runs by, secrets masked; of a generic one as submitted.

        Raises:
            NotFound: there is no such task, or it has none.
        """
        task = await self._tasks.get(caller, task_id)
        group = TASK_KINDS[task.type].group
        if group == "generic":
            return mask_config((await self._generic.get(caller, task_id)).submitted)
        if group == "interactive":
            return mask_config((await self._interactive.get(caller, None, task_id)).config)
        if task.experiment_id is None:
            raise NotFound(f"task '{task_id}' of type {task.type} has no configuration")
        row = await self._experiments.get(caller, task.experiment_id)
        return mask_config(row.config)

    async def kill(self, caller: Caller, task_id: str, *, from_root: bool = False) -> None:
        """End a task at once, with those below it; ending an ended one changes nothing.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: it deletes checkpoints, which would be left half deleted; only
                admins kill it.
        """
        task = await self._tasks.get(caller, task_id)
        access.may(caller, "control", "task", owner_id=task.user_id)
        group = TASK_KINDS[task.type].group
        if group == "generic":
            await self._generic.kill(caller, task_id, from_root=from_root)
        elif group == "interactive":
            await self._interactive.kill(caller, None, task_id)
        elif task.trial_id is not None:
            await self._trials.kill(caller, task.trial_id)
        elif task.ended_at is None:
            if not access.can(caller, "configure", "cluster"):
                raise FailedPrecondition(
                    f"task '{task_id}' of type {task.type} cannot be killed: let it end, or ask "
                    "an admin to kill it"
                )
            await self._allocations.kill(task_id)
