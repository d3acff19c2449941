"""The resource managers, their kinds, and the pools of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.resources import DEFAULT_PRIORITY
from determined_master.settings.kubernetes.checks import check_kubernetes, resolve_kubernetes
from determined_master.settings.kubernetes.resource_manager import (
    KUBERNETES_PRIORITY,
    KubernetesManager,
)
from determined_master.settings.pools import (
    POOLS,
    AnyResourceManager,
    ResourceManager,
    ResourcePool,
    Scheduler,
)
from determined_wire.settings_options import Choices

if TYPE_CHECKING:
    from determined_master.settings.master import Settings

DEFAULT_NAME = "default"

AnyManager = Annotated[
    AnyResourceManager,
    Meta(
        extra={
            "choices": Choices(
                {"agent": ResourceManager, "kubernetes": KubernetesManager},
                "is not in this version: use agent, and start agents, or kubernetes",
            )
        }
    ),
]
OtherManager = Annotated[
    KubernetesManager,
    Meta(
        extra={
            "choices": Choices(
                {"kubernetes": KubernetesManager},
                "cannot be an additional manager: only kubernetes can; agents belong to the "
                "first manager, or run a second master",
            )
        }
    ),
]


class AdditionalManager(msgspec.Struct, frozen=True, kw_only=True):
    resource_manager: OtherManager = KubernetesManager()
    resource_pools: Annotated[
        tuple[ResourcePool, ...], Meta(description="At least one; names unique over all managers.")
    ] = ()


class Manager(msgspec.Struct, frozen=True):
    config: AnyResourceManager
    pools: tuple[ResourcePool, ...]
    at: str
    """Its path in the settings: `root` for the first one."""

    @property
    def name(self) -> str:
        """Its `cluster_name`."""
        return self.config.cluster_name

    @property
    def kind(self) -> str:
        """agent or kubernetes."""
        return self.config.type

    @property
    def metadata(self) -> dict[str, str]:
        """The admins' description, which users see."""
        return {key: str(value) for key, value in (self.config.metadata or {}).items()}

    def scheduler_of(self, pool: ResourcePool) -> Scheduler:
        """The order of the pool's queue; a pool's own block replaces that of its manager.

        Its default priority is set.
        """
        if isinstance(self.config, ResourceManager):
            scheduler, usual = pool.scheduler or self.config.scheduler, DEFAULT_PRIORITY
        else:
            scheduler, usual = pool.scheduler or Scheduler(), KUBERNETES_PRIORITY
            is_shared = scheduler.type == "fair_share"
            scheduler = replace(scheduler, type="fair_share" if is_shared else "kubernetes")
        return replace(scheduler, default_priority=scheduler.default_priority or usual)


def managers_of(settings: Settings) -> Iterator[Manager]:
    """All managers, the default one first."""
    yield Manager(settings.resource_manager, settings.resource_pools, "root")
    for i, more in enumerate(settings.additional_resource_managers or ()):
        at = f"root.additional_resource_managers[{i}]"
        yield Manager(more.resource_manager, more.resource_pools, at)


def resolve_managers(settings: Settings) -> Settings:
    """Fill in the names of managers, and values that follow from other settings."""
    first, others = settings.resource_manager, settings.additional_resource_managers
    if isinstance(first, KubernetesManager):
        first = resolve_kubernetes(first, _shared_defaults(settings))
    name = first.cluster_name if first.cluster_name != DEFAULT_NAME else ""
    return replace(
        settings,
        resource_manager=replace(first, cluster_name=name or first.name or DEFAULT_NAME),
        resource_pools=settings.resource_pools or POOLS,
        additional_resource_managers=others
        and tuple(
            replace(more, resource_manager=resolve_kubernetes(more.resource_manager))
            for more in others
        ),
    )


def check_given(settings: Settings, report: ProblemReport) -> None:
    """Report settings that Kubernetes managers do not support, before anything is filled in."""
    if settings.additional_resource_managers:
        section = settings.task_container_defaults.get("kubernetes")
        if isinstance(section, Mapping) and section.get("max_slots_per_pod") is not None:
            text = "has no effect with several managers: set resource_manager.max_slots_per_pod"
            at = "root.task_container_defaults.kubernetes.max_slots_per_pod"
            report.warn(at, f"{text} of each")
    defaults = _shared_defaults(settings)
    for manager in managers_of(settings):
        if isinstance(manager.config, KubernetesManager):
            check_kubernetes(manager.config, f"{manager.at}.resource_manager", report, defaults)
            _check_kubernetes_pools(manager, report)


def check_managers(settings: Settings, report: ProblemReport) -> None:
    """Report missing and duplicate names, and unknown default pools."""
    _check_names(settings, report)
    _check_pool_names(settings, report)
    first = settings.resource_manager
    names = [pool.pool_name for pool in settings.resource_pools]
    for key in ("default_aux_resource_pool", "default_compute_resource_pool"):
        name = getattr(first, key)
        is_without = isinstance(first, KubernetesManager) and first.no_default_resource_pools
        if name not in names and not is_without:
            text = f'there is no pool "{name}"; pools: {", ".join(sorted(set(names)))}'
            report.problem(f"root.resource_manager.{key}", text)


def _shared_defaults(settings: Settings) -> Mapping[str, Any] | None:
    """The `task_container_defaults` that may apply to the only manager."""
    return None if settings.additional_resource_managers else settings.task_container_defaults


def _check_names(settings: Settings, report: ProblemReport) -> None:
    places: dict[str, str] = {}
    for manager in managers_of(settings):
        at = f"{manager.at}.resource_manager.cluster_name"
        if not manager.name:
            report.problem(at, "is required, and must be unique over all managers")
        elif manager.name in places:
            text = (
                f'"{manager.name}" is the name of {places[manager.name]} too: names of managers '
                "must be unique, rename one of them"
            )
            report.problem(at, text)
        places.setdefault(manager.name, f"{manager.at[5:]}.resource_manager".lstrip("."))


def _check_pool_names(settings: Settings, report: ProblemReport) -> None:
    owners: dict[str, Manager] = {}
    for manager in managers_of(settings):
        if not manager.pools:
            text = "must have at least one pool"
            report.problem(f"{manager.at}.resource_pools", text)
        for i, pool in enumerate(manager.pools):
            at = f"{manager.at}.resource_pools[{i}].pool_name"
            owner = owners.get(pool.pool_name)
            if not pool.pool_name:
                report.problem(at, "is required")
            elif owner is not None and owner.at == manager.at:
                text = f'"{pool.pool_name}" is the name of another pool: names must be unique'
                report.problem(at, text)
            elif owner is not None:
                text = (
                    f'"{pool.pool_name}" is the name of a pool of manager "{owner.name}" and of '
                    f'one of manager "{manager.name}": names must be unique over all managers'
                )
                report.problem(at, text)
            owners.setdefault(pool.pool_name, manager)


def _check_kubernetes_pools(manager: Manager, report: ProblemReport) -> None:
    for i, pool in enumerate(manager.pools):
        at = f"{manager.at}.resource_pools[{i}]"
        if pool.provider is not None:
            text = (
                "is for pools of agents: a Kubernetes cluster starts nodes by its own "
                "autoscaler; remove this"
            )
            report.problem(f"{at}.provider", text)
