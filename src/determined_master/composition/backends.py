"""Where containers run: the backend of agents, and the Kubernetes clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from determined_master.backends.agents.backend import AgentBackend, MasterIdentity
from determined_master.composition.machine_providers import machine_pools
from determined_master.domain.addresses import networks_of
from determined_master.pools.backends import Backends
from determined_master.services.cluster.admission import Join, JoinRules
from determined_master.services.workspaces.namespaces import NamespacesOf, WorkspaceNamespaces
from determined_master.settings.join_token import read_join_token
from determined_master.settings.kubernetes.resource_manager import KubernetesManager

if TYPE_CHECKING:
    from collections.abc import Mapping

    from determined_master.composition.core_services import CoreServices
    from determined_master.ports.agents import ClusterBackend
    from determined_master.ports.kubernetes import KubernetesCluster
    from determined_master.settings.master import Settings


@dataclass(frozen=True)
class TestBackends:
    """Replacements of backends in tests."""

    agents: ClusterBackend | None = None
    """Replaces agents that connect."""
    clusters: Mapping[str, KubernetesCluster] | None = None
    """Replaces those of the settings, by the name of their manager."""


NO_TEST_BACKENDS = TestBackends()


@dataclass(frozen=True)
class MasterBackends:
    admission: AgentBackend
    """Admits agents."""
    every: Backends
    """The agents and all clusters, as one."""
    runner: ClusterBackend
    """Takes the orders about containers."""
    namespaces: WorkspaceNamespaces


def build_backends(base: CoreServices, stand_ins: TestBackends) -> MasterBackends:
    """Create all backends.

    Raises:
        SettingsError: a cluster's settings lack the address at which its pods reach the master.
    """
    settings = base.settings
    admission = _admission(base)
    agents = stand_ins.agents or admission
    clusters = stand_ins.clusters or _clusters(base)
    every = Backends(agents, admission, clusters, _managers(settings))
    bound = _namespaces(settings, clusters)
    return MasterBackends(
        admission=admission,
        every=every,
        runner=every if clusters else agents,
        namespaces=WorkspaceNamespaces(base.db, bound, base.cluster.cluster_id),
    )


def _clusters(base: CoreServices) -> dict[str, KubernetesCluster]:
    if not any(manager.kind == "kubernetes" for manager in base.settings.managers):
        return {}
    # 90 modules, for masters that have a cluster.
    from determined_master.composition.kubernetes_clusters import kubernetes_clusters

    return kubernetes_clusters(base.settings, base.facts, base.reports)


def _admission(base: CoreServices) -> AgentBackend:
    settings, facts = base.settings, base.facts
    rules = JoinRules(
        is_open=settings.is_join_open,
        shared_token=read_join_token(settings.security.agent_join_token_file),
        allow_process_runtime=bool(settings.security.allow_process_runtime),
        pools=[p.pool_name for p in settings.agent_pools],
        machine_pools=machine_pools(settings),
        needs_certificate=settings.agents.require_authentication,
        verifies_ids=settings.agents.verify_agent_ids,
    )
    join = Join(rules, base.db, base.cluster.secret)
    identity = MasterIdentity(
        master_id=facts.master_id,
        cluster_id=facts.cluster_id,
        cluster_name=facts.cluster_name,
        version=facts.version,
    )
    return AgentBackend(
        identity,
        base.reports,
        join,
        reconnect_wait_s=settings.agent_reconnect_wait_s,
        networks=networks_of(settings.security.agent_networks),
    )


def _managers(settings: Settings) -> dict[str, str]:
    """The name of each pool's resource manager."""
    return {p.pool_name: settings.manager_of(p.pool_name).name for p in settings.all_pools}


def _namespaces(
    settings: Settings, calls: Mapping[str, KubernetesCluster]
) -> dict[str, NamespacesOf]:
    """The Kubernetes clusters, as an interface for binding workspaces to namespaces."""
    return {
        manager.name: NamespacesOf(calls[manager.name], manager.config.default_namespace)
        for manager in settings.managers
        if isinstance(manager.config, KubernetesManager) and manager.name in calls
    }
