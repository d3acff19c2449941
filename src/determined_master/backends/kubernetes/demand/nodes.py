"""The way in which a cluster is asked for nodes, by its settings."""

from __future__ import annotations

from typing import Protocol

from determined_master.backends.kubernetes.client import KubernetesApi
from determined_master.backends.kubernetes.demand.placeholders import Placeholders
from determined_master.backends.kubernetes.demand.provisioning_requests import (
    ProvisioningRequests,
)
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.ports.kubernetes import NodeRequest, NodesAsked


class NodeDemand(Protocol):
    """Asks one cluster for nodes, while its master leads."""

    def request(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        """From now on, tasks of this pool wait for nodes as these do, and no others."""

    def asked(self, allocation_id: str) -> NodesAsked | None:
        """The answer to the request of a task; None without a request."""

    async def release(self, allocation_id: str) -> None:
        """Withdraw the request of a task whose pods are made now. Raises Unreachable."""

    def forget(self) -> None:
        """Find out again what the cluster was asked for: another master may have led."""

    async def reconcile(self) -> None:
        """Ask for what is wanted, and withdraw the rest. Raises Unreachable."""


class NoDemand:
    """The nodes are those that are there."""

    def request(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        pass

    def asked(self, allocation_id: str) -> NodesAsked | None:
        return None

    async def release(self, allocation_id: str) -> None:
        pass

    def forget(self) -> None:
        pass

    async def reconcile(self) -> None:
        pass


def node_demand(options: ClusterOptions, api: KubernetesApi) -> NodeDemand:
    """The one that the settings of a cluster choose."""
    if options.autoscaling is None:
        return NoDemand()
    if options.autoscaling.demand == "provisioning_request":
        return ProvisioningRequests(options, api)
    return Placeholders(options, api)
