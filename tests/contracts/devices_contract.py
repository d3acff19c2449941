"""Slots that are devices of Dynamic Resource Allocation, on any cluster.

A suite that uses it gives the fixture `devices`: a cluster with at least two devices of the class
on its first node.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tests.contracts.kubernetes_contract import World

from determined_master.backends.kubernetes.manifest.devices import GROUP, VERSIONS
from determined_master.ports.agents import AgentSnapshot
from determined_master.ports.orders import PodTerms

Json = dict[str, Any]
HOLD = "while :; do sleep 0.1; done"


class DevicesWorld(World):
    """A cluster whose slots are the devices of `options.device_class`."""

    async def path(self) -> str:
        """Of the API group, in the version that the master uses."""
        served = (await self.api.call("GET", GROUP))["versions"]
        version = next(v for v in VERSIONS if v in {one["version"] for one in served})
        return f"{GROUP}/{version}"

    async def claims(self) -> list[Json]:
        """The claims of this master."""
        query = {"labelSelector": f"determined.ai/cluster_id={self.options.cluster_id}"}
        found = await self.api.call("GET", f"{await self.path()}/resourceclaims", query=query)
        items: list[Json] = found["items"]
        return items

    def node(self) -> AgentSnapshot:
        return next(a for a in self.backend.agents() if a.is_connected)

    async def frees(self, free: int) -> None:
        """Wait until so many slots of the first node are not others'."""
        node = self.node
        await self.until(
            lambda: len(node().devices) - len(node().foreign_slots) == free, f"{free} free slots"
        )

    async def has_no_claims(self) -> None:
        async with asyncio.timeout(self.limit_s):
            while await self.claims():  # noqa: ASYNC110
                await asyncio.sleep(0.1)


def allocated(claim: Json) -> list[Json]:
    """The devices of a claim."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    found: list[Json] = (allocation.get("devices") or {}).get("results") or []
    return found


class DevicesContract:
    """Tests that any cluster with such devices passes."""

    async def test_a_pod_gets_its_devices_by_a_claim_that_goes_with_it(
        self, devices: DevicesWorld
    ) -> None:
        slots = len(devices.node().devices)
        assert slots >= 2
        made = devices.order(HOLD, slots=2)
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "RUNNING")
        [claim] = await devices.claims()
        assert len(allocated(claim)) == 2
        [request] = claim["spec"]["devices"]["requests"]
        exact = request.get("exactly") or request
        assert exact["deviceClassName"] == devices.options.device_class
        pod = devices.backend.pod_of(made.container_id)
        assert pod is not None
        assert [o["uid"] for o in claim["metadata"]["ownerReferences"]] == [pod.uid]
        await devices.frees(slots)  # its own are not those of others
        await devices.backend.signal_container(made.agent_id, made.container_id, 9)
        await devices.state(made.container_id, "TERMINATED")
        await devices.backend.forget_container(made.agent_id, made.container_id)
        await devices.is_clean()
        await devices.has_no_claims()
        await devices.frees(slots)

    async def test_a_pod_without_slots_has_no_claim(self, devices: DevicesWorld) -> None:
        made = devices.order("true", slots=0)
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "TERMINATED")
        assert devices.events.reports[made.container_id].exit_code == 0
        assert await devices.claims() == []

    async def test_devices_of_others_are_not_free(self, devices: DevicesWorld) -> None:
        slots = len(devices.node().devices)
        other, events = devices.other_master()
        other.open({}, 1)
        try:
            await devices.until(lambda: any(a.is_connected for a in other.agents()), "nodes")
            made = devices.order(HOLD)
            events.kept.add(made.container_id)
            await other.start_container(made)
            await devices.until(lambda: events.state(made.container_id) == "RUNNING", "its start")
            await devices.frees(slots - 1)
            assert "others hold 1" in devices.backend.device_note()
            await other.signal_container(made.agent_id, made.container_id, 9)
            await devices.until(lambda: events.state(made.container_id) == "TERMINATED", "its end")
            await other.forget_container(made.agent_id, made.container_id)
            await devices.frees(slots)
            assert devices.backend.device_note() == ""
        finally:
            await other.close()

    async def test_a_users_own_claim_works_beside_that_for_slots(
        self, devices: DevicesWorld
    ) -> None:
        slots = len(devices.node().devices)
        namespace = devices.options.default_namespace
        base = await devices.path()
        where = f"{base}/namespaces/{namespace}/resourceclaimtemplates"
        exact = {"deviceClassName": devices.options.device_class}
        request = {"name": "r", **(exact if base.endswith("v1beta1") else {"exactly": exact})}
        body = {
            "apiVersion": base.removeprefix("/apis/"),
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "det-test-own"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        }
        await devices.api.call("POST", where, body=body)
        try:
            main = {"name": "determined-container", "resources": {"claims": [{"name": "own"}]}}
            own = {"name": "own", "resourceClaimTemplateName": "det-test-own"}
            spec = {"containers": [main], "resourceClaims": [own]}
            terms = PodTerms(pool="default", pod_spec={"spec": spec})
            made = devices.order(HOLD, slots=1, pod=terms)
            await devices.backend.start_container(made)
            await devices.state(made.container_id, "RUNNING")
            await devices.frees(slots - 1)  # the user's own device is no slot
            await devices.backend.signal_container(made.agent_id, made.container_id, 9)
            await devices.state(made.container_id, "TERMINATED")
        finally:
            await devices.api.call("DELETE", f"{where}/det-test-own")
