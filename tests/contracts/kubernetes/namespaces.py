"""Quotas, LimitRanges and the end of namespaces."""

from __future__ import annotations

import pytest
from tests.contracts.kubernetes.world import World
from tests.covers import covers

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import MERGE_PATCH
from determined_master.domain.errors import Unavailable
from determined_master.entropy import new_uuid
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms


class NamespaceTests:
    @covers("helm-and-kubernetes 16.quota")
    async def test_quotas_and_namespaces_are_made_and_read(self, world: World) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        assert not await world.backend.has_namespace(name)
        await world.backend.create_namespace(name)
        await world.backend.create_namespace(name)
        try:
            assert await world.backend.has_namespace(name)
            await world.backend.set_quota(name, 4)
            await world.backend.set_quota(name, 6)
            [quota] = await world.backend.quotas(name)
            assert (quota.name, quota.gpus, quota.is_own) == (f"{name}-quota", 6.0, True)
        finally:
            await world.backend.delete_namespace(name)
        assert await world.backend.delete_namespace(name)
        assert not await world.backend.has_namespace(name)

    @covers("helm-and-kubernetes 16.change")
    @covers("helm-and-kubernetes 16.full")
    async def test_quotas_are_known_with_their_use_and_a_full_one_is_no_missing_right(
        self, world: World
    ) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        await world.backend.create_namespace(name)
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
        path = f"/api/v1/namespaces/{name}/resourcequotas"
        terms = PodTerms(pool="default", namespace=name)

        def used() -> list[tuple[str, int, int]]:
            found = world.backend.loads().quotas.get(name, ())
            return [(q.name, int(q.used.get("pods", 0)), int(q.hard["pods"])) for q in found]

        try:
            await world.api.call("POST", path, body=quota)
            await world.until(lambda: used() == [("few", 0, 1)], "the quota")
            made, late = (world.order("exec sleep 600", pod=terms) for _ in range(2))
            await world.backend.start_container(made)
            await world.until(lambda: used() == [("few", 1, 1)], "a full quota")
            with pytest.raises(NotConnected, match="exceeded quota: few"):
                await world.backend.start_container(late)
            assert world.events.state(late.container_id) == ""
            await world.backend.signal_container(made.agent_id, made.container_id, 9)
            await world.state(made.container_id, "TERMINATED")
            await world.backend.forget_container(made.agent_id, made.container_id)
            await world.until(lambda: used() == [("few", 0, 1)], "a quota that is free again")
        finally:
            await world.backend.delete_namespace(name)
        await world.until(lambda: used() == [], "no quota")

    async def test_a_limit_range_that_refuses_a_pod_is_named(self, world: World) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        await world.backend.create_namespace(name)
        amounts = {part: {"memory": "16Mi"} for part in ("max", "default", "defaultRequest")}
        most = {"type": "Container", **amounts}
        limits = {"metadata": {"name": "small"}, "spec": {"limits": [most]}}
        asked = {"limits": {"memory": "32Mi"}}
        own = {"spec": {"containers": [{"name": names.MAIN, "resources": asked}]}}
        try:
            path = f"/api/v1/namespaces/{name}/limitranges"
            await world.api.call("POST", path, body=limits)
            await world.until(lambda: name in world.backend.loads().defaults, "defaults")
            assert world.backend.loads().defaults[name].limits == {"memory": 16 * 2**20}
            terms = PodTerms(pool="default", namespace=name, pod_spec=own)
            made = world.order("true", pod=terms)
            await world.backend.start_container(made)
            await world.state(made.container_id, "TERMINATED")
            failure = world.events.reports[made.container_id].failure
            assert failure is not None
            assert f"a LimitRange of namespace {name} does not admit" in failure.message
            assert "maximum memory usage per Container is 16Mi" in failure.message
        finally:
            await world.backend.delete_namespace(name)

    async def test_a_namespace_that_is_being_deleted_takes_nothing_and_is_named(
        self, world: World
    ) -> None:
        name = f"det-test-{new_uuid().hex[:8]}"
        secrets = f"/api/v1/namespaces/{name}/secrets"
        assert await world.backend.create_namespace(name)
        holds = {"metadata": {"name": "holds", "finalizers": ["determined.ai/test"]}}
        await world.api.call("POST", secrets, body=holds)
        await world.backend.delete_namespace(name)
        made = world.order("true", pod=PodTerms(namespace=name))
        try:
            with pytest.raises(Unavailable, match=f"{name}' is being deleted"):
                await world.backend.create_namespace(name)
            await world.backend.start_container(made)
        finally:
            free = {"metadata": {"finalizers": None}}
            await world.api.call("PATCH", f"{secrets}/holds", body=free, content_type=MERGE_PATCH)
        failure = world.events.reports[made.container_id].failure
        assert failure is not None
        assert f"the namespace {name} is being deleted" in failure.message
