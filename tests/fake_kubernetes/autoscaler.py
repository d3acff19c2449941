"""A stand-in for Cluster Autoscaler: it answers ProvisioningRequests, and adds their nodes."""

from __future__ import annotations

import asyncio
from decimal import ROUND_UP, Decimal

from tests.fake_kubernetes.kubelet import FakeKubelet
from tests.fake_kubernetes.store import Json, now_text

from determined_master.domain.pods.needs import requested

KIND = "provisioningrequests"


class FakeAutoscaler:
    """That of one cluster: a node for each pod, or none for any."""

    def __init__(self, kubelet: FakeKubelet) -> None:
        self._kubelet = kubelet
        self._store = kubelet.server.store
        self.without_capacity = ""
        """Why it fails every request; empty while it adds nodes."""
        self.answered: list[str] = []
        """Names of requests."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._store.listeners.append(self._heard)

    async def stop(self) -> None:
        self._store.listeners.remove(self._heard)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _heard(self, what: str, kind: str, item: Json) -> None:
        if what == "ADDED" and kind == KIND:
            task = asyncio.get_running_loop().create_task(self._answer(item))
            self._tasks.add(task)

    async def _answer(self, request: Json) -> None:
        await asyncio.sleep(0)
        await self._set(request, "Accepted", "the request is accepted")
        if self.without_capacity:
            await self._set(request, "Failed", self.without_capacity)
        else:
            for number, cpu in enumerate(self._pods(request)):
                await self._kubelet.add_node(f"{request['metadata']['name']}-{number}", cpu=cpu)
            await self._set(request, "Provisioned", "the nodes are there")
        self.answered.append(request["metadata"]["name"])

    def _pods(self, request: Json) -> list[int]:
        """The CPUs of each pod, rounded up."""
        found: list[int] = []
        for one in request["spec"]["podSets"]:
            where = request["metadata"]["namespace"], one["podTemplateRef"]["name"]
            template = self._store.find("podtemplates", *where)
            assert template is not None, "its template is missing"
            cpu = requested(template["template"]["spec"])["cpu"]
            found += [int(Decimal(cpu).to_integral_value(ROUND_UP))] * one["count"]
        return found

    async def _set(self, request: Json, type: str, message: str) -> None:
        meta = request["metadata"]
        if self._store.find(KIND, meta["namespace"], meta["name"]) is not request:
            return  # it was withdrawn
        conditions = request.setdefault("status", {}).setdefault("conditions", [])
        conditions.append(
            {
                "type": type,
                "status": "True",
                "reason": type,
                "message": message,
                "lastTransitionTime": now_text(),
            }
        )
        await self._store.put(KIND, request)
