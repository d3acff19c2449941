"""The Kubernetes clusters of the settings, connected to their listeners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.backends.kubernetes.account import (
    kubeconfig_account,
    own_account,
    own_namespace,
    service_port,
)
from determined_master.backends.kubernetes.backend import KubernetesBackend
from determined_master.backends.kubernetes.options import (
    Autoscaling,
    ClusterOptions,
    Gateway,
    Handover,
    MasterAddress,
    PoolPods,
    SlotType,
)
from determined_master.domain.pods.gateway_ports import PortRange
from determined_master.settings.kubernetes.resource_manager import (
    AutoscalingSettings,
    KubernetesManager,
    TaskGateway,
    handover_kind,
)
from determined_wire.settings_reader import SettingsError

if TYPE_CHECKING:
    from determined_master.ports.kubernetes import KubernetesCluster, PodEvents
    from determined_master.services.cluster.master import MasterFacts
    from determined_master.settings.managers import Manager
    from determined_master.settings.master import Settings
    from determined_master.settings.pools import ResourcePool

_SLOT_TYPES: dict[str, SlotType] = {"cuda": "cuda", "gpu": "cuda", "rocm": "rocm", "cpu": "cpu"}


def kubernetes_clusters(
    settings: Settings, facts: MasterFacts, events: PodEvents
) -> dict[str, KubernetesCluster]:
    """A backend for each Kubernetes manager of the settings, by the manager's name.

    Raises:
        SettingsError: one lacks the address at which its pods reach the master.
    """
    return {
        manager.name: KubernetesBackend(
            cluster_options(settings, manager, facts),
            events,
            node_wait_s=max(p.agent_reconnect_wait_s for p in manager.pools),
        )
        for manager in settings.managers
        if manager.kind == "kubernetes"
    }


def cluster_options(settings: Settings, manager: Manager, facts: MasterFacts) -> ClusterOptions:
    config = manager.config
    assert isinstance(config, KubernetesManager)
    is_first = manager.at == "root"
    return ClusterOptions(
        cluster_id=facts.cluster_id,
        name=manager.name,
        master_id=facts.master_id,
        master=_address(settings, config, manager.at),
        pools=tuple(_pool(settings, p, config) for p in manager.pools),
        node_prefix="" if is_first else f"{manager.name}.",
        kubeconfig_path=config.kubeconfig_path,
        default_namespace=config.default_namespace,
        namespaces=config.namespaces,
        slot_type=_SLOT_TYPES[config.slot_type],
        cpu_per_slot=config.slot_resource_requests.cpu or 1.0,
        default_scheduler=config.default_scheduler,
        gpu_resource=config.gpu_resource,
        device_class=config.device_class,
        device_selector=config.device_selector,
        rack_label=config.rack_label,
        forwards_ports=config.reach_tasks == "port_forward",
        gateway=_gateway(config.internal_task_gateway),
        autoscaling=_autoscaling(config.autoscaling),
        own_account=_account(config),
        reserved_names=config.reserved_names,
    )


def _account(config: KubernetesManager) -> str:
    if config.kubeconfig_path:
        return kubeconfig_account(config.kubeconfig_path)
    return own_account()


def _gateway(settings: TaskGateway | None) -> Gateway | None:
    if settings is None:
        return None
    return Gateway(
        name=settings.gateway_name,
        namespace=settings.gateway_namespace,
        host=settings.gateway_ip,
        ports=PortRange(settings.gateway_port_range_start, settings.gateway_port_range_end),
    )


def _autoscaling(settings: AutoscalingSettings) -> Autoscaling | None:
    if settings.demand == "none":
        return None
    return Autoscaling(
        demand=settings.demand,
        image=settings.image,
        max_pods=settings.max_pods,
        class_name=settings.class_name,
        protects_tasks=settings.protect_tasks,
    )


def _address(settings: Settings, config: KubernetesManager, at: str) -> MasterAddress:
    """The address at which pods reach the master.

    Raises:
        SettingsError: there is none.
    """
    scheme = config.determined_master_scheme or ("https" if settings.security.tls.cert else "http")
    if config.determined_master_host:
        return MasterAddress(
            scheme=scheme,
            host=config.determined_master_host,
            port=config.determined_master_port or settings.port,
        )
    if config.master_service_name:
        # The master's own namespace; a master outside of the cluster can only assume the tasks'.
        namespace = own_namespace() or config.default_namespace
        host = f"{config.master_service_name}.{namespace}.svc.cluster.local"
        port = (
            config.determined_master_port
            or service_port(config.master_service_name)
            or settings.port
        )
        return MasterAddress(scheme=scheme, host=host, port=port)
    raise SettingsError(
        f"{at}.resource_manager.determined_master_host: must say where pods reach this master, "
        "or master_service_name must name its Service"
    )


def _pool(settings: Settings, pool: ResourcePool, config: KubernetesManager) -> PoolPods:
    """The nodes of a pool's pods: its own pod specs, else those of the cluster."""
    own, shared = pool.task_container_defaults, settings.task_container_defaults
    return PoolPods(
        name=pool.pool_name,
        cpu_pod_spec=own.get("cpu_pod_spec") or shared.get("cpu_pod_spec"),
        gpu_pod_spec=own.get("gpu_pod_spec") or shared.get("gpu_pod_spec"),
        handover=_handover(pool, config),
    )


def _handover(pool: ResourcePool, config: KubernetesManager) -> Handover | None:
    kind = handover_kind(pool, config)
    if kind != "kueue" or pool.scheduler is None:
        return None if kind is None else Handover(kind=kind)
    return Handover(
        kind=kind,
        queue_name=pool.scheduler.queue_name,
        priority_class=pool.scheduler.priority_class,
    )
