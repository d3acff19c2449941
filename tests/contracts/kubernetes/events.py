"""Events of pods in the logs of their tasks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.contracts.kubernetes.world import World
from tests.covers import covers

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import MERGE_PATCH
from determined_master.backends.kubernetes.log.event_lines import line_of
from determined_master.ports.orders import StartOrder


class EventTests:
    @covers("helm-and-kubernetes 13.all")
    async def test_events_of_a_pod_appear_in_its_tasks_log(self, world: World) -> None:
        made = world.order("true")
        await world.backend.start_container(made)
        said = "its resources are allocated"
        await world.until(lambda: any(said in n.text for n in world.events.notes), said)

    @covers("helm-and-kubernetes 13.all")
    async def test_events_from_a_time_without_a_master_are_logged_once(self, world: World) -> None:
        made = world.order("echo up")
        await world.backend.start_container(made)
        await world.backend.close()
        await world.wait_for_end()
        said = "Started container determined-container"
        for _ in range(2):
            world.backend = world.new_backend()
            await world.open()
            await world.until(lambda: any(said in n.text for n in world.events.notes), said)
            await world.until(lambda: made.container_id in world.events.closed, "the last line")
            await world.backend.close()
        await world.restart()
        told = Counter(n.text for n in world.events.notes)
        happened = Counter(filter(None, map(line_of, await self.events_of(world, made))))
        assert {text: told[text] for text in happened} == happened

    async def events_of(self, world: World, made: StartOrder) -> list[Any]:
        """What the cluster keeps of what happened to a container's pod."""
        query = {"labelSelector": f"{names.CONTAINER_ID}={made.container_id}"}
        [pod] = (await world.api.call("GET", "/api/v1/pods", query=query))["items"]
        about = {"fieldSelector": f"involvedObject.uid={pod['metadata']['uid']}"}
        found: list[Any] = (await world.api.call("GET", "/api/v1/events", query=about))["items"]
        return found

    async def test_a_counted_event_is_logged_again_when_its_text_changes(
        self, world: World
    ) -> None:
        made = world.order("exec sleep 600")
        await world.backend.start_container(made)
        await world.state(made.container_id, "RUNNING")
        pod = world.backend.pod_of(made.container_id)
        assert pod is not None
        events, name = f"/api/v1/namespaces/{pod.namespace}/events", f"{pod.name}.tried"
        whose = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
        happening = {
            "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", **whose},
            "reason": "Tried",
            "message": "tried this",
        }
        await world.api.call("POST", events, body={**happening, "count": 1})

        def tried() -> list[str]:
            return [n.text for n in world.events.notes if "tried" in n.text]

        for again in ({"count": 2}, {"count": 3}, {"count": 4, "message": "tried that"}):
            await world.api.call("PATCH", f"{events}/{name}", body=again, content_type=MERGE_PATCH)
        await world.until(lambda: tried() and "tried that" in tried()[-1], "the last words")

        assert [text.rpartition(": ")[2] for text in tried()] == ["tried this", "tried that"]
