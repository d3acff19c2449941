"""What the services of pools and tasks ask the Kubernetes clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.pools.pod_placement import PodPlacement
from determined_master.pools.pod_specs import PodSpecs
from determined_master.services.containers.pod_terms import PodTermsReader

if TYPE_CHECKING:
    from determined_master.composition.backends import MasterBackends
    from determined_master.composition.core_services import CoreServices
    from determined_master.ports.kubernetes import ClusterTrouble, KubernetesCluster, NodesAsked
    from determined_master.settings.master import Settings


def pod_placements(base: CoreServices, backends: MasterBackends) -> dict[str, PodPlacement]:
    """The placement of each pool whose tasks run as pods."""
    terms = PodTermsReader(base.settings, base.db)
    placements = {}
    for manager in base.settings.managers:
        cluster = backends.every.clusters.get(manager.name)
        if cluster is None:
            continue
        pools = [p.pool_name for p in manager.pools]
        specs = PodSpecs(base.live, frozenset(pools), terms.read)
        placements.update({pool: PodPlacement(pool, base.live, cluster, specs) for pool in pools})
    return placements


def pool_trouble(settings: Settings, backends: MasterBackends, pool: str) -> ClusterTrouble | None:
    """What keeps all pods of a pool from starting at present; None for nothing."""
    cluster = backends.every.clusters.get(settings.manager_of(pool).name)
    return None if cluster is None else cluster.trouble()


def forwarding_cluster(backends: MasterBackends, agent_id: str) -> KubernetesCluster | None:
    """The cluster of a node whose pods' addresses are not reached; None for other nodes."""
    clusters = (c for c in backends.every.clusters.values() if c.is_forwarded)
    return next((cluster for cluster in clusters if cluster.has(agent_id)), None)


def nodes_asked(
    settings: Settings, backends: MasterBackends, pool: str, allocation_id: str
) -> NodesAsked | None:
    """The answer to the request for nodes of a waiting task; None without a request."""
    cluster = backends.every.clusters.get(settings.manager_of(pool).name)
    return None if cluster is None else cluster.nodes_asked(allocation_id)


def waits_in_cluster(
    settings: Settings, backends: MasterBackends, pool: str, allocation_id: str
) -> str:
    """Why pods of an allocation wait in a pool's cluster; empty for none."""
    cluster = backends.every.clusters.get(settings.manager_of(pool).name)
    return "" if cluster is None else cluster.waits_for(allocation_id)


def device_note(settings: Settings, backends: MasterBackends, pool: str) -> str:
    """Why devices of a pool's class are no free slots; empty when all are, or for none."""
    cluster = backends.every.clusters.get(settings.manager_of(pool).name)
    return "" if cluster is None else cluster.device_note()
