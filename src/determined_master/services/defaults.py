"""What the cluster's admin has set for all experiments and tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from determined_master.domain.config.layers import DEFAULT_SHM_BYTES, ConfigLayers, PoolLayer
from determined_master.domain.schedule.view import Rules
from determined_master.pools.loop import PoolConfig
from determined_master.services.container_specs import TaskDefaults
from determined_wire.agent_link import TaskUser

if TYPE_CHECKING:
    from determined_master.settings import Settings
    from determined_master.settings_pools import Scheduler


def config_layers(settings: Settings, storage: Path | None) -> ConfigLayers:
    """The layers below a user's configuration.

    Args:
        settings: the master's.
        storage: a directory for checkpoints when the settings name no storage.
    """
    manager = settings.resource_manager
    checkpoint_storage = settings.checkpoint_storage
    if checkpoint_storage is None and storage is not None:
        checkpoint_storage = {"type": "shared_fs", "host_path": str(storage)}
    return ConfigLayers(
        task_container_defaults=settings.task_container_defaults,
        pools={
            pool.pool_name: PoolLayer(
                task_container_defaults=pool.task_container_defaults,
                default_priority=settings.scheduler_of(pool).default_priority,
                has_priorities=settings.scheduler_of(pool).type == "priority",
            )
            for pool in settings.resource_pools
        },
        default_compute_pool=manager.default_compute_resource_pool,
        default_aux_pool=manager.default_aux_resource_pool,
        checkpoint_storage=checkpoint_storage,
    )


def pool_configs(settings: Settings) -> list[PoolConfig]:
    """How each pool is scheduled."""
    return [
        PoolConfig(
            pool.pool_name,
            rules_of(settings.scheduler_of(pool)),
            pool.max_aux_containers_per_agent,
        )
        for pool in settings.resource_pools
    ]


def rules_of(scheduler: Scheduler) -> Rules:
    """A scheduler's settings as its planner takes them."""
    return Rules(
        type="fair_share" if scheduler.type == "fair_share" else "priority",
        fitting=scheduler.fitting_policy,
        is_heterogeneous=scheduler.allow_heterogeneous_fits,
        preemption=scheduler.preemption,
        gang_patience_s=scheduler.gang_patience_s,
    )


def task_defaults(settings: Settings) -> TaskDefaults:
    """What containers get beside their experiment's configuration."""
    user = settings.security.default_task
    defaults = settings.task_container_defaults
    return TaskDefaults(
        user=TaskUser(user=user.user, uid=user.uid, group=user.group, gid=user.gid),
        shm_size_bytes=int(defaults.get("shm_size_bytes") or DEFAULT_SHM_BYTES),
        network_mode=defaults.get("network_mode") or "bridge",
        startup_hook=defaults.get("startup_hook") or "",
        network_interface=defaults.get("dtrain_network_interface") or "",
        gloo_port_range=defaults.get("gloo_port_range") or "",
        reserved_ports=frozenset(settings.reserved_ports or ()),
        ssh_key_type=settings.security.ssh.key_type,
        rsa_bits=settings.security.ssh.rsa_key_size,
    )
