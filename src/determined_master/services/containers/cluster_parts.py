"""The cluster's part of a container besides the user's: identity, trust, network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from determined_master.domain.allocation import messages as alloc
from determined_master.domain.task import gang_ports
from determined_master.domain.task import spec as task_spec
from determined_master.domain.task.ssh_files import ssh_files
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.configs.task_defaults import TaskDefaults
from determined_master.services.containers.ssh_keys import derive_key_pair
from determined_wire import agent_link as link


class ClusterParts:
    """Variables and files of containers that follow from the cluster and the allocation."""

    def __init__(self, tokens: TaskTokens, defaults: TaskDefaults) -> None:
        self._tokens = tokens
        self._defaults = defaults

    def identity(
        self, state: alloc.Allocation, container: alloc.StartContainer, username: str
    ) -> dict[str, str]:
        """Variables with a container's identity, and the token that it uses."""
        identity = task_spec.TaskIdentity(
            task_id=state.request.task_id,
            task_type=state.request.task_type,
            allocation_id=state.id,
            container_id=container.container_id,
            username=username,
            session_token=self._tokens.session_token(state.id),
            user_token=self._tokens.user_token(state.id),
            uses_tls=bool(self._defaults.master_cert_file),
        )
        return task_spec.base_environment(identity)

    def network(
        self, state: alloc.Allocation, container: alloc.StartContainer, ports: Mapping[str, int]
    ) -> dict[str, str]:
        """Variables that describe the network that a container shares with the others."""
        defaults = self._defaults.of(state.request.pool)
        found: dict[str, str] = {}
        if defaults.network_interface:
            found["DET_INTER_NODE_NETWORK_INTERFACE"] = defaults.network_interface
        if defaults.gloo_port_range:
            found["GLOO_PORT_RANGE"] = defaults.gloo_port_range
        by_rank = gang_ports.ports_by_rank(ports, container.count)
        if by_rank:
            found["DET_PORTS_BY_RANK"] = json.dumps(by_rank)
        return found

    def files(self, state: alloc.Allocation) -> tuple[link.File, ...]:
        """The cluster's files: trust, and the scripts before the program."""
        hook = self._defaults.of(state.request.pool).startup_hook
        if not hook:
            return self.trust()
        path = f"{task_spec.RUN_DIR}/dynamic-tcd-startup-hook.sh"
        return (*self.trust(), link.File(path=path, content=hook.encode(), mode=0o744))

    def trust(self) -> tuple[link.File, ...]:
        """The certificate by which a task identifies the master that serves HTTPS."""
        if not self._defaults.master_cert_file:
            return ()
        cert = Path(self._defaults.master_cert_file).read_bytes()  # it may have been renewed
        return (link.File(task_spec.MASTER_CERT_FILE, cert, 0o644, is_root_owned=True),)

    async def ssh_files(self, experiment_id: int) -> list[link.File]:
        """The keys with which launchers reach the other containers of a gang."""
        keys = await asyncio.to_thread(
            derive_key_pair,
            self._tokens.ssh_seed(experiment_id),
            self._defaults.ssh_key_type,
            self._defaults.rsa_bits,
        )
        return [link.File(f.path, f.content, f.mode, f.is_root_owned) for f in ssh_files(keys)]
