"""Builds the specifications of containers for agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.allocation import messages as alloc
from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.task import gang_ports
from determined_master.domain.task import spec as task_spec
from determined_master.domain.task.containers import (
    ContainerConfig,
    typed_containers,
    without_missing_storage,
)
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.domain.task.limits import needs_of
from determined_master.domain.task.pod_parts import MachinePart
from determined_master.records.experiments import ExperimentRow
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.configs.task_defaults import TaskDefaults
from determined_master.services.containers import gc_specs, generic_specs
from determined_master.services.containers.cluster_parts import ClusterParts
from determined_master.services.containers.interactive_programs import (
    InteractiveSecrets,
    log_sources,
    program_of,
)
from determined_master.services.containers.options import (
    TaskProgram,
    container_options,
    mounts,
    with_storage_of_cluster,
)
from determined_master.store.checkpoints import checkpoints
from determined_master.store.checkpoints import gc as gc_tasks
from determined_master.store.experiments import experiments, trials
from determined_master.store.tasks import allocations, generic_tasks, interactive_tasks
from determined_master.store.workspaces import workspaces
from determined_wire import agent_link as link

if TYPE_CHECKING:
    import asyncpg

    from determined_master.store.db import Conn

TRIAL_ENTRYPOINT = ("python3", "-m", "determined.exec.entry", "trial")


class _Gang(msgspec.Struct, frozen=True):
    """The common part of all containers of a trial's allocation."""

    experiment: ExperimentRow
    run: task_spec.TrialRun
    ports: dict[str, int]
    user: link.TaskUser


class _Who(msgspec.Struct, frozen=True):
    """Configuration, user and device type of a task that is not a trial's."""

    config: ContainerConfig
    user: link.TaskUser
    device_type: str


class ContainerSpecs:
    """Builds the specifications of containers."""

    def __init__(self, db: asyncpg.Pool, tokens: TaskTokens, defaults: TaskDefaults) -> None:
        self._db = db
        self._defaults = defaults
        self._cluster = ClusterParts(tokens, defaults)
        self._secrets = InteractiveSecrets(tokens, defaults)

    async def build(
        self,
        state: alloc.Allocation,
        containers: Sequence[alloc.StartContainer],
        device_types: Sequence[str],
        hosts: Mapping[str, frozenset[str]] = MappingProxyType({}),
    ) -> list[link.ContainerSpec]:
        """The specifications of containers; the same again when asked twice.

        The common part is read once: 200 containers cost little more than one.

        Args:
            state: the allocation.
            containers: which of its containers, and where.
            device_types: of each container's slots; says which image and variables it gets.
            hosts: names and addresses of each agent's machine, by agent.

        Raises:
            FailedPrecondition: the admin's limits do not allow the containers.
        """
        if not containers:
            return []
        created = self._defaults.created_storage
        specs = await self._build_all(state, containers, device_types, hosts)
        return [with_storage_of_cluster(spec, created) for spec in specs]

    async def _build_all(
        self,
        state: alloc.Allocation,
        containers: Sequence[alloc.StartContainer],
        device_types: Sequence[str],
        hosts: Mapping[str, frozenset[str]],
    ) -> list[link.ContainerSpec]:
        group = TASK_KINDS[state.request.task_type].group
        if group == "checkpoint_gc":
            return [await self._build_gc_task(state, container) for container in containers]
        if group == "generic":
            row, user, ports = await self._read_generic(state, hosts)
            return [
                self._build_program(
                    state,
                    container,
                    _Who(row.typed.containers, user, device_type),
                    generic_specs.program_of(row, user, device_type, container.count),
                    ports,
                )
                for container, device_type in zip(containers, device_types, strict=True)
            ]
        if group == "interactive":
            return [await self._build_interactive(state, containers[0], device_types[0])]
        gang = await self._read_gang(state, hosts)
        keys = await self._cluster.ssh_files(gang.experiment.id) if containers[0].count > 1 else []
        return [
            self._build_trial(state, container, gang, keys, device_type)
            for container, device_type in zip(containers, device_types, strict=True)
        ]

    async def _read_gang(
        self, state: alloc.Allocation, hosts: Mapping[str, frozenset[str]]
    ) -> _Gang:
        trial_id = state.request.trial_id
        if trial_id is None:
            raise RuntimeError(f"allocation {state.id} belongs to no trial")
        async with self._db.acquire() as conn:
            ports = await self._reserve_ports(conn, state, hosts)
            trial = await trials.find_trial(conn, trial_id)
            resume = await checkpoints.find_resume_point(conn, trial_id)
            if trial is None:
                raise RuntimeError(f"trial {trial_id} has no row")
            experiment = await experiments.find_experiment(conn, trial.experiment_id)
            if experiment is None:
                raise RuntimeError(f"experiment {trial.experiment_id} has no row")
            user = await self._user(conn, experiment.user_id, experiment.workspace_id)
        run = task_spec.TrialRun(
            experiment_id=experiment.id,
            trial_id=trial.id,
            run_id=int(state.id.rpartition(".")[2]),
            seed=trial.seed,
            config=experiment.config,
            hparams=trial.hparams,
            steps_completed=resume[1] if resume else 0,
            latest_checkpoint=resume[0] if resume else trial.warm_start_checkpoint,
        )
        return _Gang(experiment, run, ports, user)

    def _build_trial(
        self,
        state: alloc.Allocation,
        container: alloc.StartContainer,
        gang: _Gang,
        keys: Sequence[link.File],
        device_type: str,
    ) -> link.ContainerSpec:
        config = gang.experiment.typed.containers
        self._check(state, config, gang.user)
        own_ports = gang_ports.ports_of_rank(gang.ports, container.rank)
        environment = self._cluster.identity(state, container, gang.experiment.username)
        environment.update(self._cluster.network(state, container, gang.ports))
        environment.update(task_spec.trial_environment(gang.run, own_ports))
        environment.update(config.variables_of(device_type))
        spec = self._spec(state, container, config, environment, gang.run)
        options = self._options(state, config, device_type)
        exposed = tuple(sorted({*spec.ports, *own_ports.values()}))
        if keys:
            options["files"] = (*spec.files, *keys)
        return msgspec.structs.replace(spec, ports=exposed, user=gang.user, **options)

    async def _reserve_ports(
        self, conn: Conn, state: alloc.Allocation, hosts: Mapping[str, frozenset[str]]
    ) -> dict[str, int]:
        async with conn.transaction():
            request = self._port_request(state, hosts)
            return await allocations.reserve_ports(conn, state.id, request)

    def _port_request(
        self, state: alloc.Allocation, hosts: Mapping[str, frozenset[str]]
    ) -> allocations.PortRequest:
        by_rank = [hosts.get(c.agent_id, frozenset()) for c in state.containers]
        return allocations.PortRequest(
            wanted=gang_ports.wanted_ports(by_rank),
            hosts=frozenset().union(*by_rank) if all(by_rank) else frozenset(),
            reserved=self._defaults.reserved_ports,
        )

    async def _build_gc_task(
        self, state: alloc.Allocation, container: alloc.StartContainer
    ) -> link.ContainerSpec:
        async with self._db.acquire() as conn:
            row = await gc_tasks.find_gc_task(conn, state.request.task_id)
            if row is None:
                raise RuntimeError(f"the collection {state.request.task_id} has no row")
            experiment = await experiments.find_experiment(conn, row.experiment_id)
            if experiment is None:
                raise RuntimeError(f"experiment {row.experiment_id} has no row")
            user = await self._user(conn, experiment.user_id, experiment.workspace_id)
        environment = self._cluster.identity(state, container, experiment.username)
        config = typed_containers({**experiment.config, "checkpoint_storage": row.storage})
        self._check(state, config, user)
        if not row.uuids:  # a storage that was never there has no TensorBoard files either
            config = without_missing_storage(config)
        environment.update(config.variables_of("cpu"))
        spec = link.ContainerSpec(
            task_id=row.task_id,
            task_type=state.request.task_type,
            description=f"gc-{row.experiment_id}",
            entrypoint=gc_specs.entrypoint(row),
            environment=environment,
            work_dir=task_spec.WORK_DIR,
            user=user,
            files=(*gc_specs.files(row), *self._cluster.trust()),
            mounts=tuple(mounts(config)),
            network_mode=self._defaults.of(state.request.pool).network_mode,
        )
        return msgspec.structs.replace(spec, **self._options(state, config, "cpu"))

    async def _read_generic(
        self, state: alloc.Allocation, hosts: Mapping[str, frozenset[str]]
    ) -> tuple[generic_tasks.GenericTaskRow, link.TaskUser, dict[str, int]]:
        """The task, whom it runs as, and the ports that several containers use."""
        async with self._db.acquire() as conn:
            is_gang = len(state.containers) > 1
            ports = await self._reserve_ports(conn, state, hosts) if is_gang else {}
            row = await generic_tasks.find_generic_task(conn, state.request.task_id)
            if row is None:
                raise RuntimeError(f"the generic task {state.request.task_id} has no row")
            user = await self._user(conn, row.user_id, row.workspace_id or 0)
        return row, user, ports

    async def _build_interactive(
        self, state: alloc.Allocation, container: alloc.StartContainer, device_type: str
    ) -> link.ContainerSpec:
        async with self._db.acquire() as conn:
            row = await interactive_tasks.find_interactive_task(conn, state.request.task_id)
            if row is None:
                raise RuntimeError(f"the interactive task {state.request.task_id} has no row")
            user = await self._user(conn, row.user_id, row.workspace_id or 0)
            sources = await log_sources(conn, row)
        secrets = await self._secrets.of(row)
        program = program_of(row, user, secrets, sources, device_type)
        return self._build_program(
            state, container, _Who(row.typed.containers, user, device_type), program
        )

    def _build_program(
        self,
        state: alloc.Allocation,
        container: alloc.StartContainer,
        who: _Who,
        program: TaskProgram,
        ports: Mapping[str, int] = MappingProxyType({}),
    ) -> link.ContainerSpec:
        """Of a task that is neither a trial's nor the master's own."""
        self._check(state, who.config, who.user)
        defaults = self._defaults.of(state.request.pool)
        environment = self._cluster.identity(state, container, program.username)
        exposed = set(program.ports)
        if container.count > 1:
            own = gang_ports.ports_of_rank(ports, container.rank)
            environment.update(self._cluster.network(state, container, ports))
            environment.update({name: str(port) for name, port in own.items()})
            exposed |= {task_spec.RENDEZVOUS_PORT, *own.values()}
        environment.update(program.environment)
        spec = link.ContainerSpec(
            task_id=state.request.task_id,
            task_type=state.request.task_type,
            description=program.description,
            entrypoint=program.entrypoint,
            environment=environment,
            work_dir=program.work_dir,
            user=who.user,
            files=(*self._cluster.files(state), *program.files),
            mounts=program.mounts,
            ports=tuple(sorted(exposed)),
            network_mode=defaults.network_of(container.count),
        )
        options = self._options(state, who.config, who.device_type)
        return msgspec.structs.replace(spec, **options)

    def _options(
        self, state: alloc.Allocation, config: ContainerConfig, device_type: str
    ) -> dict[str, Any]:
        """The container options of a configuration."""
        defaults = self._defaults.of(state.request.pool)
        options = container_options(config, device_type, defaults.shm_size_bytes)
        limits = defaults.limits
        allow_root = limits.allow_root is not False
        return {**options, "host_roots": limits.host_roots, "allow_root": allow_root}

    def _check(
        self, state: alloc.Allocation, config: ContainerConfig, user: link.TaskUser
    ) -> None:
        """Check a configuration that may be older than the limits, and the user.

        Raises:
            FailedPrecondition: the admin does not allow it.
        """
        limits = self._defaults.of(state.request.pool).limits
        needs = [
            *needs_of(config),
            *([MachinePart("root", "a task", "user")] if user.uid == 0 else []),
        ]
        faults = limits.faults(needs)
        if faults:
            raise FailedPrecondition("; ".join(text for _, text in faults))

    async def _user(self, conn: Conn, user_id: int, workspace_id: int) -> link.TaskUser:
        """Whom the tasks of a user in a workspace run as."""
        linked = await workspaces.find_agent_user(conn, user_id, workspace_id)
        return msgspec.structs.replace(self._defaults.user, **linked)

    def _spec(
        self,
        state: alloc.Allocation,
        container: alloc.StartContainer,
        config: ContainerConfig,
        environment: dict[str, str],
        run: task_spec.TrialRun,
    ) -> link.ContainerSpec:
        defaults = self._defaults.of(state.request.pool)
        ports = {task_spec.RENDEZVOUS_PORT, *config.exposed_ports()}
        return link.ContainerSpec(
            task_id=state.request.task_id,
            task_type=state.request.task_type,
            description=f"exp-{run.experiment_id}-trial-{run.trial_id}-attempt-{run.run_id}",
            entrypoint=TRIAL_ENTRYPOINT,
            environment=environment,
            work_dir=task_spec.WORK_DIR,
            user=self._defaults.user,
            files=self._cluster.files(state),
            mounts=tuple(mounts(config)),
            ports=tuple(sorted(ports)),
            network_mode=defaults.network_of(container.count),
        )
