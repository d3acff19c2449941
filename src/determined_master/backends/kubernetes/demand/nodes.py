"""The way in which a cluster is asked for nodes, by its settings."""

from __future__ import annotations

from typing import Protocol

from determined_master.backends.kubernetes.client import KubernetesApi
from determined_master.backends.kubernetes.demand.placeholders import Placeholders
from determined_master.backends.kubernetes.demand.provisioning_requests import (
    ProvisioningRequests,
)
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.known import KnownPods
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.ports.kubernetes import NodeRequest, NodesAsked


class NodeDemand(Protocol):
    """Asks one cluster for nodes, while its master leads."""

    def request(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        """From now on, tasks of this pool wait for nodes as these do, and no others."""

    def asked(self, allocation_id: str) -> NodesAsked | None:
        """The answer to the request of a task; None without a request."""

    async def make_room(self, allocation_id: str, agent_id: str) -> None:
        """Withdraw the request of a task whose pod is made now, and what holds the pod's node.

        Raises Unreachable.
        """

    def forget(self) -> None:
        """Find out again what the cluster was asked for: another master may have led."""

    def take(self, change: ObjectsListed | ObjectChanged) -> None:
        """Pods of this master were listed, or one has changed."""

    def priority_classes(self) -> set[str]:
        """The names of the PriorityClasses in use."""

    async def reconcile(self) -> None:
        """Ask for what is wanted, and withdraw the rest. Raises Unreachable."""


def node_demand(
    options: ClusterOptions,
    api: KubernetesApi,
    nodes: NodeCache,
    pods: KnownPods,
    classes: PriorityClasses,
) -> NodeDemand:
    """The one that the settings of a cluster choose.

    Where they ask for no nodes there are no requests, and placeholders from before are removed.
    """
    placeholders = Placeholders(options, api, nodes, pods, classes)
    if options.autoscaling is not None and options.autoscaling.demand == "provisioning_request":
        return ProvisioningRequests(options, api, placeholders)
    return placeholders
