"""How a cluster is asked for nodes, in each of the ways; the real ones and ours in memory alike.

A suite that uses it gives the fixture `world`, and the fixture `scaling` for each way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contracts.kubernetes_contract import World

from determined_master.backends.kubernetes.client import MERGE_PATCH
from determined_master.backends.kubernetes.demand import placeholders, provisioning_requests
from determined_master.backends.kubernetes.manifest.placeholder import DEMAND
from determined_master.backends.kubernetes.manifest.provisioning import GROUP
from determined_master.backends.kubernetes.options import Autoscaling
from determined_master.ports.kubernetes import NodeRequest
from determined_wire.backoff import Backoff

Json = dict[str, Any]
PODS = Autoscaling(image="pause:local", max_pods=9)
REQUESTS = replace(
    PODS,
    demand="provisioning_request",
    class_name="best-effort-atomic-scale-up.autoscaling.x-k8s.io",
)
NOWHERE = {"spec": {"nodeSelector": {"determined.test/nowhere": "true"}}}


def request(allocation_id: str = "7.x.1", slots: tuple[int, ...] = (2, 3)) -> NodeRequest:
    return NodeRequest(allocation_id=allocation_id, slots=slots, pod_spec=NOWHERE)


async def objects(world: World, kind: str, group: str = "/api/v1") -> list[Json]:
    """Those that ask for nodes."""
    labels = f"determined.ai/cluster_id={world.options.cluster_id},{DEMAND}=true"
    found = await world.api.call("GET", f"{group}/{kind}", query={"labelSelector": labels})
    items: list[Json] = found["items"]
    return items


async def shapes(world: World) -> list[tuple[str, str]]:
    """The allocation and the CPUs of each pod for which nodes are asked."""
    pods = await objects(world, "pods")
    if world.options.autoscaling == REQUESTS:
        templates = {t["metadata"]["name"]: t for t in await objects(world, "podtemplates")}
        sets = [
            one
            for item in await objects(world, "provisioningrequests", GROUP)
            for one in item["spec"]["podSets"]
        ]
        named = [
            (templates[s["podTemplateRef"]["name"]], s["count"])
            for s in sets
            if s["podTemplateRef"]["name"] in templates  # it may be removed between the lists
        ]
        pods += [
            {**t["template"], "metadata": t["metadata"]}
            for t, count in named
            for _ in range(count)
        ]
    return sorted(
        (
            p["metadata"]["annotations"][DEMAND],
            p["spec"]["containers"][0]["resources"]["requests"]["cpu"],
        )
        for p in pods
    )


async def becomes(world: World, wanted: list[tuple[str, str]]) -> None:
    async with asyncio.timeout(world.limit_s):
        while await shapes(world) != wanted:  # noqa: ASYNC110  what is asked for has no event
            await asyncio.sleep(0.05)


async def is_clean(world: World) -> None:
    await becomes(world, [])
    async with asyncio.timeout(world.limit_s):
        while await objects(world, "podtemplates"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


class DemandContract:
    """Tests that each way passes."""

    @pytest.fixture(autouse=True)
    async def way(
        self, world: World, scaling: Autoscaling, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(provisioning_requests, "KEPT_S", 0.0)
        monkeypatch.setattr(placeholders, "KEPT_S", 0.0)
        world.options = replace(world.options, autoscaling=scaling)
        await world.restart()

    async def test_nodes_are_asked_for_all_pods_of_a_task(self, world: World) -> None:
        world.backend.request_nodes("default", (request(), request("7.x.2", (1, 1))))
        wanted = [("7.x.1", "200m"), ("7.x.1", "300m"), ("7.x.2", "100m"), ("7.x.2", "100m")]
        await becomes(world, wanted)
        await world.until(lambda: world.backend.nodes_asked("7.x.2"), "the request")
        asked = world.backend.nodes_asked("7.x.1")
        assert asked is not None
        assert asked.at is not None
        assert not [p for p in await objects(world, "pods") if p["spec"].get("nodeName")]
        world.backend.request_nodes("default", (request("7.x.2", (1, 1)),))
        await becomes(world, wanted[2:])
        await world.until(lambda: not world.backend.nodes_asked("7.x.1"), "the withdrawal")
        world.backend.request_nodes("default", ())
        await is_clean(world)

    async def test_the_next_master_withdraws_what_nothing_waits_for(self, world: World) -> None:
        world.backend.request_nodes("default", (request(),))
        await world.until(lambda: world.backend.nodes_asked("7.x.1"), "the request")
        await world.restart()
        await is_clean(world)

    async def test_the_request_of_a_task_is_withdrawn_before_its_pods_are_made(
        self, world: World
    ) -> None:
        made = world.order("true", image=world.missing)
        world.backend.request_nodes("default", (request(made.allocation_id),))
        await world.until(lambda: world.backend.nodes_asked(made.allocation_id), "the request")
        await world.backend.start_container(made)
        others = request(made.allocation_id), request("7.x.2", (1,))
        world.backend.request_nodes("default", others)
        await becomes(world, [("7.x.2", "100m")])
        assert world.backend.nodes_asked(made.allocation_id) is None
        world.backend.request_nodes("default", ())
        await is_clean(world)


class ProvisioningContract:
    """Tests of the answers to a `ProvisioningRequest`, in which the test is the autoscaler."""

    @pytest.fixture(autouse=True)
    async def way(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(provisioning_requests, "LISTED_AGAIN_S", 0.5)
        monkeypatch.setattr(provisioning_requests, "KEPT_S", 2.0)
        world.options = replace(world.options, autoscaling=REQUESTS)
        await world.restart()

    async def test_the_answer_of_the_autoscaler_is_shown(self, world: World) -> None:
        await self.asked(world)
        assert self.text(world) == "the autoscaler has not answered yet"
        await self.answer(world, ("Accepted", "True", "accepted"))
        await self.shows(world, lambda text: "has accepted that" in text)
        again = "Capacity is not found, CA will try to find it later."
        await self.answer(world, ("Accepted", "True", ""), ("Provisioned", "False", again))
        await self.shows(world, lambda text: "tries again: Capacity is not found" in text)
        await self.answer(world, ("Accepted", "True", ""), ("Provisioned", "True", "added"))
        await self.shows(world, lambda text: text == "the autoscaler adds them")
        world.backend.request_nodes("default", ())
        await is_clean(world)

    async def test_a_request_that_failed_is_made_again_later(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = await self.asked(world)
        await self.answer(world, ("Failed", "True", "no quota for GPUs"))
        await self.shows(
            world, lambda text: "could not add them: no quota for GPUs; it is" in text
        )
        at_once = Backoff(timedelta(0), timedelta(0))
        monkeypatch.setattr(provisioning_requests, "BACKOFF", at_once)
        await self.shows(world, lambda text: text == "the autoscaler has not answered yet")
        [second] = await objects(world, "provisioningrequests", GROUP)
        assert second["metadata"]["annotations"]["determined.ai/attempt"] == "2"
        assert second["metadata"]["uid"] != first["metadata"]["uid"]
        named = [s["podTemplateRef"]["name"] for s in second["spec"]["podSets"]]
        kept = [t["metadata"]["name"] for t in await objects(world, "podtemplates")]
        assert sorted(kept) == sorted(named)
        world.backend.request_nodes("default", ())
        await is_clean(world)

    async def test_the_next_master_keeps_a_request_that_is_still_wanted(
        self, world: World
    ) -> None:
        before = await self.asked(world)
        await self.answer(world, ("Accepted", "True", ""))
        await world.restart()
        world.backend.request_nodes("default", (request(),))
        await self.shows(world, lambda text: "has accepted that" in text)
        [after] = await objects(world, "provisioningrequests", GROUP)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        made = world.order("true", allocation_id="7.x.1", image=world.missing)
        await world.backend.start_container(made)
        await is_clean(world)

    async def asked(self, world: World) -> Json:
        """The object of one request."""
        world.backend.request_nodes("default", (request(),))
        await world.until(lambda: world.backend.nodes_asked("7.x.1"), "the request")
        [found] = await objects(world, "provisioningrequests", GROUP)
        assert found["spec"]["provisioningClassName"] == REQUESTS.class_name
        return found

    async def answer(self, world: World, *given: tuple[str, str, str]) -> None:
        [found] = await objects(world, "provisioningrequests", GROUP)
        meta = found["metadata"]
        at = "2026-01-01T12:00:00Z"
        body = {
            "status": {
                "conditions": [
                    {
                        "type": type,
                        "status": status,
                        "reason": "Test",
                        "message": message,
                        "lastTransitionTime": at if type != "Failed" else found_at(found),
                    }
                    for type, status, message in given
                ]
            }
        }
        path = f"{GROUP}/namespaces/{meta['namespace']}/provisioningrequests/{meta['name']}/status"
        await world.api.call("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def shows(self, world: World, claim: Callable[[str], bool]) -> None:
        await world.until(lambda: claim(self.text(world)), "the answer")

    def text(self, world: World) -> str:
        asked = world.backend.nodes_asked("7.x.1")
        return "" if asked is None else asked.admin_text


def found_at(item: Json) -> str:
    """When it was made."""
    return str(item["metadata"]["creationTimestamp"])
