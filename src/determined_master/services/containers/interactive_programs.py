"""The programs of interactive tasks' containers, read together."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from determined_master.domain.config.task import work_directory
from determined_master.domain.interactive_task.tensorboard_sources import LogSource
from determined_master.domain.task import spec as task_spec
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.domain.task.ssh_files import KeyPair
from determined_master.services.containers.interactive_specs import (
    TaskSecrets,
    TaskToStart,
    spec_of,
)
from determined_master.services.containers.options import TaskProgram
from determined_master.services.containers.ssh_keys import derive_key_pair
from determined_master.store.experiments import experiments, trials
from determined_wire import agent_link as link

if TYPE_CHECKING:
    from determined_master.records.tasks import InteractiveRow
    from determined_master.services.access.task_tokens import TaskTokens
    from determined_master.services.configs.task_defaults import TaskDefaults
    from determined_master.services.containers.cluster_authority import ClusterAuthority
    from determined_master.store.db import Conn


class InteractiveSecrets:
    """What only a task and its user know. All of it is derived: nothing is stored."""

    def __init__(self, tokens: TaskTokens, defaults: TaskDefaults) -> None:
        self._tokens = tokens
        self.defaults = defaults

    @cached_property
    def _authority(self) -> ClusterAuthority:
        # 50 modules, for masters whose tasks have a service with TLS.
        from determined_master.services.containers.cluster_authority import ClusterAuthority

        return ClusterAuthority(self._tokens)

    def notebook_token(self, task_id: str) -> str:
        """The token that opens a notebook."""
        return self._tokens.notebook_token(task_id)

    async def ssh_keys(self, task_id: str) -> KeyPair:
        """The keys that open a shell."""
        return await asyncio.to_thread(
            derive_key_pair,
            self._tokens.shell_seed(task_id),
            self.defaults.ssh_key_type,
            self.defaults.rsa_bits,
        )

    async def of(self, row: InteractiveRow) -> TaskSecrets:
        """Those that a task of its kind is started with."""
        secrets = TaskSecrets()
        server = TASK_KINDS[row.kind].server
        if server is None:
            return secrets
        if server.is_tls:
            issued = await asyncio.to_thread(lambda: self._authority.issue(row.id))
            secrets = replace(secrets, certificate=issued.certificate, certificate_key=issued.key)
        if server.is_keyed:
            secrets = replace(secrets, service_key=self._tokens.service_key(row.id))
        if TASK_KINDS[row.kind].has_own_token:
            secrets = replace(secrets, notebook_token=self.notebook_token(row.id))
        if TASK_KINDS[row.kind].has_ssh_keys:
            secrets = replace(secrets, ssh_keys=await self.ssh_keys(row.id))
        return secrets


async def log_sources(conn: Conn, row: InteractiveRow) -> list[LogSource]:
    """The sources of a TensorBoard that still exist."""
    found = []
    for experiment_id in row.experiment_ids:
        experiment = await experiments.find_experiment(conn, experiment_id)
        if experiment is not None:
            found.append(LogSource(experiment_id=experiment_id, config=experiment.config))
    for trial in await trials.list_trials(conn, row.trial_ids):
        experiment = await experiments.find_experiment(conn, trial.experiment_id)
        if experiment is not None:
            of_trial = LogSource(
                experiment_id=experiment.id, trial_id=trial.id, config=experiment.config
            )
            found.append(of_trial)
    return found


def program_of(
    row: InteractiveRow,
    user: link.TaskUser,
    secrets: TaskSecrets,
    sources: list[LogSource],
    device_type: str,
) -> TaskProgram:
    """What such a task runs.

    Args:
        row: the task.
        user: whom it runs as.
        secrets: those of its kind.
        sources: of a TensorBoard.
        device_type: of its slots; says which of the configuration's variables it gets.

    Raises:
        ValueError: all sources of a TensorBoard are deleted.
    """
    config, kind = row.typed, TASK_KINDS[row.kind]
    directory = work_directory(
        config, task_spec.WORK_DIR, agent_user=user.user, username=row.username
    )
    task = TaskToStart(
        kind=row.kind,
        task_id=row.id,
        config=row.config,
        arguments=config.entrypoint if kind.runs_user_command else config.tensorboard_args,
        idle_type=config.notebook_idle_type,
        port=row.port or 0,
        work_dir=directory,
        sources=sources,
    )
    spec = spec_of(task, secrets, device_type)
    return TaskProgram(
        username=row.username,
        description=spec.description,
        entrypoint=spec.entrypoint,
        environment=spec.environment,
        work_dir=directory,
        files=spec.files,
        mounts=spec.mounts,
        ports=spec.ports,
    )
