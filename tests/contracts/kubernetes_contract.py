"""What the backend makes of a Kubernetes cluster: the real ones and ours in memory alike.

A suite that uses it gives the fixture `world`.
"""

from __future__ import annotations

from tests.contracts.kubernetes.containers import ContainerTests
from tests.contracts.kubernetes.ends import EndTests
from tests.contracts.kubernetes.events import EventTests
from tests.contracts.kubernetes.masters import MasterTests
from tests.contracts.kubernetes.namespaces import NamespaceTests
from tests.contracts.kubernetes.nodes import NodeTests
from tests.contracts.kubernetes.world import World

__all__ = ["KubernetesContract", "World"]


class KubernetesContract(
    ContainerTests,
    EndTests,
    MasterTests,
    NodeTests,
    EventTests,
    NamespaceTests,
):
    """Tests that any cluster passes."""
