"""Where the pods of an allocation run, and their parts besides containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.pods.pull_secrets import serves
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.ports.orders import PodTerms
from determined_master.settings.kubernetes.resource_manager import KubernetesManager
from determined_master.store.experiments import experiments
from determined_master.store.tasks import generic_tasks, interactive_tasks
from determined_master.store.workspaces.namespaces import find_namespace
from determined_master.store.workspaces.owners import find_workspace_name, find_workspaces

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.allocation.messages import Allocation, StartContainer
    from determined_master.domain.config.sections.resources import TopologyConfig
    from determined_master.domain.task.containers import ContainerConfig
    from determined_master.records.tasks import InteractiveRow
    from determined_master.settings.master import Settings
    from determined_master.store.db import Conn
    from determined_master.store.tasks.generic_tasks import GenericTaskRow


class _Task(msgspec.Struct, frozen=True):
    """The owner of a task, and its containers."""

    containers: ContainerConfig | None = None
    username: str = ""
    workspace: str = ""
    topology: TopologyConfig | None = None

    @property
    def pod_spec(self) -> Mapping[str, Any] | None:
        return None if self.containers is None else self.containers.pod_spec


class PodTermsReader:
    """Reads the terms of pods from the settings, the tasks' configurations and bindings."""

    def __init__(self, settings: Settings, db: asyncpg.Pool) -> None:
        self._settings = settings
        self._db = db

    async def read(self, state: Allocation) -> PodTerms | None:
        """The common part of all pods of an allocation; None where its containers are no pods."""
        request = state.request
        config = self._settings.manager_of(request.pool).config
        if not isinstance(config, KubernetesManager):
            return None
        task = await self._task(state)
        return PodTerms(
            pool=request.pool,
            namespace=await self._namespace(state) or config.default_namespace,
            job_id=request.job_id,
            priority=request.priority,
            pods=len(state.containers),
            secrets=secrets_of_pod(task.containers, config.slot_type if request.slots else "cpu"),
            topology=task.topology,
            proxy_ports=tuple(port.port for port in request.proxy_ports),
            pod_spec=self._pod_spec(state, task.pod_spec),
            username=task.username,
            workspace=task.workspace,
            experiment_id=_text(request.experiment_id),
            trial_id=_text(request.trial_id),
        )

    async def _namespace(self, state: Allocation) -> str | None:
        """The namespace that the task's workspace is bound to in its pool's cluster."""
        manager = self._settings.manager_of(state.request.pool).name
        async with self._db.acquire() as conn:
            where = await find_workspaces(conn, "allocation", [state.id])
            workspace_id = where.get(state.id)
            if workspace_id is None:
                return None
            return await find_namespace(conn, workspace_id, manager)

    def _pod_spec(
        self, state: Allocation, own: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        """The task's, and the cluster's over it where checkpoints are deleted."""
        if TASK_KINDS[state.request.task_type].group != "checkpoint_gc":
            return own
        pools = {p.pool_name: p.task_container_defaults for p in self._settings.all_pools}
        key = "checkpoint_gc_pod_spec"
        found = pools.get(state.request.pool, {}).get(key)
        return found or self._settings.task_container_defaults.get(key) or own

    async def _task(self, state: Allocation) -> _Task:
        request = state.request
        async with self._db.acquire() as conn:
            if request.experiment_id is not None:
                row = await experiments.find_experiment(conn, request.experiment_id)
                if row is None:
                    return _Task()
                typed = row.typed
                topology = typed.resources.topology if request.trial_id is not None else None
                return _Task(typed.containers, row.username, row.workspace_name, topology)
            group = TASK_KINDS[request.task_type].group
            if group == "generic":
                generic = await generic_tasks.find_generic_task(conn, request.task_id)
                return await _described(conn, generic)
            if group == "interactive":
                used = await interactive_tasks.find_interactive_task(conn, request.task_id)
                return await _described(conn, used)
        return _Task()


async def _described(conn: Conn, row: GenericTaskRow | InteractiveRow | None) -> _Task:
    if row is None:
        return _Task()
    workspace_id = row.workspace_id
    workspace = await find_workspace_name(conn, workspace_id) if workspace_id else None
    return _Task(row.typed.containers, row.username, workspace or "")


def secrets_of_pod(containers: ContainerConfig | None, device_type: str) -> int:
    """How many Secrets a pod has: its own, and one with the password of its image's registry."""
    if containers is None:
        return 1
    image = containers.images.get(device_type, "")
    return 2 if serves(containers.registry_auth, image) else 1


def terms_of(common: PodTerms | None, container: StartContainer) -> PodTerms | None:
    """The terms of one container's pod."""
    return common and msgspec.structs.replace(common, rank=container.rank)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
