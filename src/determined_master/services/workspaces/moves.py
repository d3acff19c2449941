"""Whether unended work may continue in another workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from determined_master.domain.config.policies.layer import check_held
from determined_master.domain.config.policies.rules import check_constraints
from determined_master.domain.errors import DetError, FailedPrecondition
from determined_master.domain.states import ENDED
from determined_master.records.experiments import ExperimentRow
from determined_master.services.configs.policies import policies_of
from determined_master.store.experiments import experiments
from determined_master.store.tasks import generic_tasks
from determined_master.store.workspaces import projects

if TYPE_CHECKING:
    from determined_master.domain.config.policies.rules import Policies, Workload
    from determined_master.services.cluster.pool_bindings import PoolBindings
    from determined_master.services.cluster.pools import Pools
    from determined_master.store.db import Conn


class Moves:
    """Checks of moves between workspaces: unended work must fit its new workspace.

    Its pool has to serve that one, and its configuration has to keep to the config policies
    there. An ended one is checked when it is continued.
    """

    def __init__(self, bindings: PoolBindings, pools: Pools) -> None:
        self._bindings = bindings
        self._pools = pools

    async def check_experiment(self, conn: Conn, row: ExperimentRow, workspace_id: int) -> None:
        """Do nothing when an experiment may continue there.

        Raises:
            FailedPrecondition: it may not; the text names it, all reasons and the remedy.
        """
        if workspace_id == row.workspace_id or row.state in ENDED or row.unmanaged:
            return
        thing = f"experiment {row.id}"
        await self._check(conn, thing, row.config, workspace_id, "EXPERIMENT")

    async def check_project(self, conn: Conn, project_id: int, workspace_id: int) -> None:
        """The same for everything in a project."""
        owned = await projects.list_owned(conn, [project_id])
        open_ids = [i for i, _, state in owned if state not in ENDED]
        for _, row in await experiments.list_versioned(conn, open_ids):
            await self.check_experiment(conn, row, workspace_id)
        for task_id in await generic_tasks.list_unended(conn, [project_id]):
            task = await generic_tasks.find_generic_task(conn, task_id)
            if task is not None and task.workspace_id != workspace_id:
                await self._check(conn, f"task {task.id}", task.config, workspace_id, "NTSC")

    async def _check(
        self,
        conn: Conn,
        thing: str,
        config: Mapping[str, Any],
        workspace_id: int,
        workload: Workload,
    ) -> None:
        resources = config["resources"]
        pool = str(resources["resource_pool"])
        policies = await policies_of(conn, workspace_id, workload)
        try:
            await self._bindings.check_available(conn, pool, workspace_id)
            check_constraints(resources, policies, priorities=self._pools.priorities(pool))
            _check_invariants(config, policies)
        except DetError as error:
            raise FailedPrecondition(
                f"{thing} cannot be moved to workspace id {workspace_id} while it is not over: "
                f"{error.text}"
            ) from error


def _check_invariants(config: Mapping[str, Any], policies: Policies) -> None:
    if policies.workload == "EXPERIMENT":
        check_held(config, policies)
