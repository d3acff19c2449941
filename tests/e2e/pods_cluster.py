"""A master whose tasks run in the pods of a cluster of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.e2e.cluster import Cluster, Way
from tests.e2e.cluster_api import until
from tests.e2e.conftest import running
from tests.e2e.pods import Pods


@contextmanager
def running_on(pods: Pods, settings: Callable[[int], str]) -> Iterator[Cluster]:
    """A master that knows the nodes.

    Args:
        pods: the cluster of Kubernetes.
        settings: the text of its master.yaml, for its port.
    """

    def prepare(made: Cluster) -> None:
        made.host = pods.host
        made.settings = settings(made.port)
        if pods.tuning:
            made.ways["master"] = Way(pods.tuning)

    with running(agents=0, prepare=prepare) as made:
        until(made.connected, pods.limit_s, "nodes")
        yield made
