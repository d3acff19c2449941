"""Which agents of a cluster are busy."""

from __future__ import annotations

from tests.e2e.cluster import Cluster


def running_on(cluster: Cluster) -> list[str]:
    """Agents that hold a container now."""
    agents = cluster.get("/api/v1/agents")["agents"]
    return sorted(a["id"] for a in agents if a["containers"])
