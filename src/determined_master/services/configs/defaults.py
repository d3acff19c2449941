"""The admin's defaults for all experiments and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from determined_master.domain.checkpoints.access import StorageAccess
from determined_master.domain.config.layers import (
    DEFAULT_SHM_BYTES,
    TASK_CONTAINER_DEFAULTS,
    ConfigLayers,
    PoolLayer,
    merge_container_defaults,
)
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.resources import DEFAULT_PRIORITY
from determined_master.domain.config.sections.storage import (
    ALLOWED_ENDPOINTS,
    storage_defaults,
)
from determined_master.domain.pods.queues import queue_name
from determined_master.domain.schedule.priorities import PriorityOrder
from determined_master.domain.schedule.view import Rules
from determined_master.domain.task.limits import limits_of
from determined_master.pools.loop import PoolConfig
from determined_master.services.configs.task_defaults import (
    ContainerDefaults,
    IdleTimeouts,
    TaskDefaults,
)
from determined_master.settings.kubernetes.resource_manager import KubernetesManager, handover_kind
from determined_wire.agent_link import TaskUser

if TYPE_CHECKING:
    from determined_master.domain.schedule.view import Size
    from determined_master.settings.master import Settings
    from determined_master.settings.pools import ResourcePool, Scheduler


def config_layers(settings: Settings, storage: Path | None) -> ConfigLayers:
    """The layers below a user's configuration.

    Args:
        settings: the master's.
        storage: a directory for checkpoints when the settings name no storage.
    """
    manager = settings.resource_manager
    checkpoint_storage = settings.checkpoint_storage and storage_defaults(
        settings.checkpoint_storage
    )
    if checkpoint_storage is None and storage is not None:
        checkpoint_storage = {"type": "shared_fs", "host_path": str(storage)}
    return ConfigLayers(
        task_container_defaults=settings.task_container_defaults,
        pools={
            pool.pool_name: PoolLayer(
                task_container_defaults=pool.task_container_defaults,
                default_priority=settings.scheduler_of(pool).default_priority or DEFAULT_PRIORITY,
                priorities=priority_order(settings, pool),
                places_pods=_places_pods(settings, pool),
            )
            for pool in settings.all_pools
        },
        default_compute_pool=manager.default_compute_resource_pool,
        default_aux_pool=manager.default_aux_resource_pool,
        checkpoint_storage=checkpoint_storage,
        limits=settings.config_limits,
    )


def storage_access(settings: Settings, layers: ConfigLayers) -> StorageAccess:
    """Which storages of users the master reads itself."""
    return StorageAccess(
        own=layers.checkpoint_storage,
        allowed_endpoints=(settings.checkpoint_storage or {}).get(ALLOWED_ENDPOINTS) or (),
        allowed_host_paths=settings.task_container_defaults.get("allowed_host_paths"),
    )


def pool_configs(
    settings: Settings, machines: Mapping[str, Size] = MappingProxyType({})
) -> list[PoolConfig]:
    """How each pool is scheduled; `machines` are those on demand, by pool."""
    return [
        PoolConfig(
            pool.pool_name,
            replace(pool_rules(settings, pool), machines=machines.get(pool.pool_name)),
            pool.max_aux_containers_per_agent,
        )
        for pool in settings.all_pools
    ]


def pool_rules(settings: Settings, pool: ResourcePool) -> Rules:
    """A pool's rules as its planner takes them."""
    config = settings.manager_of(pool.pool_name).config
    if isinstance(config, KubernetesManager):
        own = rules_of(pool.scheduler) if pool.scheduler else Rules()
        handed = handover_kind(pool, config) is not None
        kind = "fair_share" if own.type == "fair_share" and not handed else "kubernetes"
        queue = queue_name(pool.pool_name) if handed else ""
        most = config.max_slots_per_pod
        # A kubelet starts few pods a second. Nodes that can be removed are worth more than that.
        spreads = config.autoscaling.demand == "none"
        return replace(own, type=kind, max_slots_per_pod=most, queue=queue, spreads_aux=spreads)
    return rules_of(settings.scheduler_of(pool))


def _places_pods(settings: Settings, pool: ResourcePool) -> bool:
    """Whether the pool's planner chooses the nodes of its pods."""
    config = settings.manager_of(pool.pool_name).config
    return isinstance(config, KubernetesManager) and handover_kind(pool, config) is None


def priority_order(settings: Settings, pool: ResourcePool) -> PriorityOrder:
    """Which priority is the more urgent one in a pool."""
    return pool_rules(settings, pool).priorities


def cluster_priorities(settings: Settings) -> PriorityOrder:
    """Which priority is the more urgent one in the whole cluster; `none` where pools differ."""
    kinds = {manager.kind for manager in settings.managers}
    if kinds == {"kubernetes"}:
        return "larger_first"
    return "smaller_first" if kinds == {"agent"} else "none"


def rules_of(scheduler: Scheduler) -> Rules:
    """The settings of a scheduler of agents as its planner takes them."""
    return Rules(
        type="fair_share" if scheduler.type == "fair_share" else "priority",
        fitting=scheduler.fitting_policy,
        is_heterogeneous=scheduler.allow_heterogeneous_fits,
        preemption=scheduler.preemption,
        gang_patience_s=scheduler.gang_patience_s,
    )


def task_defaults(settings: Settings) -> TaskDefaults:
    """The container defaults besides an experiment's configuration."""
    user = settings.security.default_task
    cluster = settings.task_container_defaults
    storage = settings.checkpoint_storage or {}
    return TaskDefaults(
        created_storage=storage.get("host_path", "") if storage.get("create") else "",
        user=TaskUser(user=user.user, uid=user.uid, group=user.group, gid=user.gid),
        containers=_container_defaults({}, cluster, settings.checkpoint_storage),
        pools={
            pool.pool_name: _container_defaults(
                pool.task_container_defaults,
                cluster,
                settings.checkpoint_storage,
                has_pods=settings.manager_of(pool.pool_name).kind == "kubernetes",
            )
            for pool in settings.all_pools
        },
        reserved_ports=frozenset(settings.reserved_ports or ()),
        ssh_key_type=settings.security.ssh.key_type,
        rsa_bits=settings.security.ssh.rsa_key_size,
        master_cert_file=settings.security.tls.cert,
    )


def idle_timeouts(settings: Settings) -> IdleTimeouts:
    """How long notebooks and TensorBoards may be idle; 0 seconds are forever."""
    notebook, tensorboard = settings.notebook_timeout, settings.tensorboard_timeout
    return IdleTimeouts(
        notebook=timedelta(seconds=notebook) if notebook else None,
        tensorboard=timedelta(seconds=tensorboard) if tensorboard else None,
    )


def _container_defaults(
    pool: Mapping[str, Any],
    cluster: Mapping[str, Any],
    storage: Mapping[str, Any] | None,
    *,
    has_pods: bool = False,
) -> ContainerDefaults:
    """The defaults of a pool over those of the cluster, as in the settings."""
    quiet = ProblemReport()  # settings are checked at start
    low = TASK_CONTAINER_DEFAULTS.read(cluster, "", quiet) or {}
    high = TASK_CONTAINER_DEFAULTS.read(pool, "", quiet) or {}
    merged = merge_container_defaults(high, low)
    return ContainerDefaults(
        network_mode=merged.get("network_mode") or "bridge",
        shm_size_bytes=merged.get("shm_size_bytes") or DEFAULT_SHM_BYTES,
        limits=limits_of(merged, storage),
        has_pods=has_pods,
        startup_hook=merged.get("startup_hook") or "",
        network_interface=merged.get("dtrain_network_interface") or "",
        gloo_port_range=merged.get("gloo_port_range") or "",
    )
