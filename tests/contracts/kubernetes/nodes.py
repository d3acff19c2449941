"""Nodes: their switches, their facts and the pods of others there."""

from __future__ import annotations

import asyncio

from tests.contracts.kubernetes.world import World
from tests.covers import covers

from determined_master.backends.kubernetes.client import MERGE_PATCH
from determined_master.domain.machines.agent_switches import Switches
from determined_master.entropy import new_uuid


class NodeTests:
    @covers("helm-and-kubernetes 19.labels 8.disabled")
    async def test_a_disabled_node_has_a_label_until_it_is_enabled(self, world: World) -> None:
        key = f"determined.ai/cluster-id-{world.options.cluster_id}"
        node = next(a.id for a in world.backend.agents() if a.is_connected)

        async def value() -> str | None:
            found = await world.api.call("GET", f"/api/v1/nodes/{node}")
            return (found["metadata"].get("labels") or {}).get(key)

        async def becomes(wanted: str | None) -> None:
            async with asyncio.timeout(world.limit_s):
                while await value() != wanted:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)

        def is_draining() -> bool:
            return next(a.is_draining for a in world.backend.agents() if a.id == node)

        world.backend.set_switches({node: Switches(is_enabled=False)})
        await becomes("no-execute")
        world.backend.set_switches({node: Switches(is_draining=True)})
        await becomes("no-schedule")
        world.backend.set_switches({})
        await becomes(None)
        await world.until(lambda: not is_draining(), "the end of the drain")
        # A script that sets the label itself keeps work away, until an enabling removes it.
        body = {"metadata": {"labels": {key: "no-schedule"}}}
        await world.api.call("PATCH", f"/api/v1/nodes/{node}", body=body, content_type=MERGE_PATCH)
        await world.until(is_draining, "the drain")
        world.backend.set_switches({node: Switches()})
        await becomes(None)

    async def test_nodes_are_known_with_all_that_the_scheduler_compares(
        self, world: World
    ) -> None:
        items = (await world.api.call("GET", "/api/v1/nodes"))["items"]
        found = world.backend.loads()
        names_found = {item["metadata"]["name"] for item in items}
        assert {load.facts.name for load in found.nodes.values()} == names_found
        assert all({"cpu", "memory"} <= n.facts.allocatable.keys() for n in found.nodes.values())

    async def test_a_cordon_ends_nothing_and_keeps_the_nodes_place(self, world: World) -> None:
        made = world.order("echo up; sleep 3; exit 3")
        await world.backend.start_container(made)
        await world.until(lambda: world.events.text(made.container_id), "its output")
        node = f"/api/v1/nodes/{made.agent_id}"

        async def cordon(is_on: bool | None) -> None:
            body = {"spec": {"unschedulable": is_on}}
            await world.api.call("PATCH", node, body=body, content_type=MERGE_PATCH)

        def is_draining() -> bool:
            return next(a.is_draining for a in world.backend.agents() if a.id == made.agent_id)

        await cordon(True)
        try:
            await world.until(is_draining, "a drain")
            await world.state(made.container_id, "TERMINATED")
            assert world.events.reports[made.container_id].exit_code == 3
        finally:
            await cordon(None)
        await world.until(lambda: not is_draining(), "the end of the drain")
        assert world.events.lost == []

    async def test_a_pod_of_somebody_else_takes_slots_while_it_is_there(
        self, world: World
    ) -> None:
        node = next(a for a in world.backend.agents() if a.is_connected)
        container = {
            "name": "main",
            "image": world.image,
            "command": ["sh", "-c", "exec sleep 600"],
            "resources": {"requests": {"cpu": str(world.options.cpu_per_slot)}},
        }
        name = f"other-{new_uuid()}"
        pod = {
            "metadata": {"name": name},
            "spec": {
                "nodeName": node.hostname,
                "automountServiceAccountToken": False,
                "containers": [container],
            },
        }
        path = "/api/v1/namespaces/default/pods"

        def taken() -> int:
            return next(len(a.foreign_slots) for a in world.backend.agents() if a.id == node.id)

        before = taken()
        await world.api.call("POST", path, body=pod)
        await world.until(lambda: taken() == before + 1, "a slot of somebody else")
        await world.api.call("DELETE", f"{path}/{name}", query={"gracePeriodSeconds": "0"})
        await world.until(lambda: taken() == before, "its end")
