"""What the namespaces of every Kubernetes cluster must do; `ports.Namespaces`.

A subclass gives a fixture `cluster` (see `Namespaced`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from determined_master.domain.errors import PermissionDenied, Unavailable
from determined_master.entropy import new_uuid
from determined_master.ports.kubernetes import Namespaces


class Namespaced:
    """A cluster, and ways around its port."""

    def __init__(
        self,
        calls: Namespaces,
        add_namespace: Callable[[str], Awaitable[None]],
        add_quota: Callable[[str, str, int], Awaitable[None]],
        break_it: Callable[[], None],
        refuse: Callable[[], None],
    ) -> None:
        """
        Args:
            calls: the port.
            add_namespace: makes a namespace as somebody else does.
            add_quota: lays a quota of GPUs in a namespace: namespace, name, number.
            break_it: from now on the cluster does not answer.
            refuse: from now on the master may make no namespaces.
        """
        self.calls = calls
        self.vision, self.theirs = (f"det-test-{new_uuid().hex[:12]}" for _ in range(2))
        """Names that nobody else has: a cluster may be shared, and removes slowly."""
        self.add_namespace = add_namespace
        self.add_quota = add_quota
        self.break_it = break_it
        self.refuse = refuse


class NamespacesContract:
    """The suite."""

    async def test_a_namespace_is_there_from_its_making_to_its_deletion(
        self, cluster: Namespaced
    ) -> None:
        calls = cluster.calls
        assert await calls.has_namespace("default")
        assert not await calls.has_namespace(cluster.vision)
        assert await calls.create_namespace(cluster.vision)
        assert await calls.create_namespace(cluster.vision)
        assert await calls.has_namespace(cluster.vision)
        assert await calls.delete_namespace(cluster.vision)
        assert await calls.delete_namespace(cluster.vision)
        assert not await calls.has_namespace(cluster.vision)

    async def test_a_foreign_namespace_is_reported_and_never_deleted(
        self, cluster: Namespaced
    ) -> None:
        calls = cluster.calls
        await cluster.add_namespace(cluster.theirs)
        assert not await calls.create_namespace(cluster.theirs)
        assert not await calls.delete_namespace(cluster.theirs)
        assert not await calls.delete_namespace("default")
        assert await calls.has_namespace(cluster.theirs)

    async def test_quotas_are_listed_by_name_and_the_own_one_is_marked(
        self, cluster: Namespaced
    ) -> None:
        calls = cluster.calls
        await calls.create_namespace(cluster.vision)
        assert list(await calls.quotas(cluster.vision)) == []
        await cluster.add_quota(cluster.vision, "zoo", 3)
        await calls.set_quota(cluster.vision, 4)
        await calls.set_quota(cluster.vision, 8)
        found = [(q.name, q.gpus, q.is_own) for q in await calls.quotas(cluster.vision)]
        assert found == [(f"{cluster.vision}-quota", 8.0, True), ("zoo", 3.0, False)]

    async def test_a_cluster_that_does_not_answer_is_unavailable(
        self, cluster: Namespaced
    ) -> None:
        cluster.break_it()
        for call in (
            cluster.calls.has_namespace("a"),
            cluster.calls.create_namespace("a"),
            cluster.calls.delete_namespace("a"),
            cluster.calls.quotas("a"),
            cluster.calls.set_quota("a", 1),
        ):
            with pytest.raises(Unavailable):
                await call

    async def test_a_missing_permission_of_the_master_is_reported(
        self, cluster: Namespaced
    ) -> None:
        cluster.refuse()
        with pytest.raises(PermissionDenied, match="namespaces"):
            await cluster.calls.create_namespace("a")
