"""A stand-in for kueue: it gates the pods of groups, admits groups by a quota, and evicts them."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from tests.fake_kubernetes.server import FakeServer
from tests.fake_kubernetes.store import Json, now_text

from determined_master.domain.pods.needs import requested

K = "kueue.x-k8s.io/"
GROUP, COUNT, QUEUE = f"{K}pod-group-name", f"{K}pod-group-total-count", f"{K}queue-name"
MANAGED, GATE = f"{K}managed", f"{K}admission"
GRACE_S = 20


class FakeKueue:
    """That of one cluster, with one ClusterQueue."""

    def __init__(self, server: FakeServer, cpu: int) -> None:
        """
        Args:
            server: of the cluster.
            cpu: the quota of all queues together.
        """
        self.cpu = Decimal(cpu)
        self._store = server.store
        self._server = server
        self._admitted: set[tuple[str, str]] = set()
        """Namespace and name of groups that use quota."""
        server.webhooks.append(_take)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        self._server.webhooks.remove(_take)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def set_quota(self, cpu: int) -> None:
        self.cpu = Decimal(cpu)
        await self._reconcile()

    async def evict(self, namespace: str, group: str, message: str) -> None:
        """Take quota back: the pods of a group are deleted, and the group ends with them."""
        self._admitted.discard((namespace, group))
        said = {"Evicted": ("True", message), "QuotaReserved": ("False", message)}
        await self._say(namespace, group, **said)
        for pod in self._groups()[namespace, group]:
            target = {"type": "TerminationTarget", "status": "True", "reason": "WorkloadEvicted"}
            pod["status"].setdefault("conditions", []).append({**target, "message": message})
            grace_s = int(pod["spec"].get("terminationGracePeriodSeconds") or GRACE_S)
            goes = {"deletionTimestamp": now_text(grace_s), "deletionGracePeriodSeconds": grace_s}
            pod["metadata"].update(goes)
            await self._store.put("pods", pod)

    async def _run(self) -> None:
        seen = -1
        while True:
            async with self._store.news:
                await self._store.news.wait_for(lambda: self._store.version > seen)  # noqa: B023
            seen = self._store.version
            await self._reconcile()

    def _groups(self) -> dict[tuple[str, str], list[Json]]:
        found: dict[tuple[str, str], list[Json]] = {}
        for (kind, namespace, _), item in self._store.objects.items():
            name = (item["metadata"].get("labels") or {}).get(GROUP)
            if kind == "pods" and name:
                found.setdefault((namespace, name), []).append(item)
        return found

    async def _reconcile(self) -> None:
        for key, pods in self._groups().items():
            active = [pod for pod in pods if _is_active(pod)]
            if not active:
                await self._finish(key, pods)
            elif len(active) == int(pods[0]["metadata"]["annotations"][COUNT]):
                await self._admit(key, active)

    async def _admit(self, key: tuple[str, str], pods: list[Json]) -> None:
        if key in self._admitted or not any(_is_gated(pod) for pod in pods):
            return
        groups = self._groups()
        used = sum((_cpu(pod) for k in self._admitted for pod in groups.get(k, ())), Decimal(0))
        asked = sum(map(_cpu, pods), Decimal(0))
        if used + asked > self.cpu:
            text = f"insufficient unused quota for cpu: {asked} of {self.cpu - used} are needed"
            await self._say(*key, QuotaReserved=("False", text))
            return
        self._admitted.add(key)
        await self._say(*key, QuotaReserved=("True", ""), Admitted=("True", ""))
        for pod in pods:
            gates = [g for g in pod["spec"].get("schedulingGates") or () if g["name"] != GATE]
            pod["spec"]["schedulingGates"] = gates
            await self._store.put("pods", pod)

    async def _finish(self, key: tuple[str, str], pods: list[Json]) -> None:
        """Nothing of a group is active: its pods need no finalizer, and its quota is free."""
        self._admitted.discard(key)
        await self._store.remove("workloads", *key)
        for pod in pods:
            meta = pod["metadata"]
            if not meta.get("finalizers"):
                continue
            meta["finalizers"] = []
            if meta.get("deletionTimestamp"):
                await self._store.remove("pods", meta["namespace"], meta["name"])
            else:
                await self._store.put("pods", pod)

    async def _say(self, namespace: str, group: str, **conditions: tuple[str, str]) -> None:
        """Write conditions of a Workload, which is made where it is missing."""
        found = self._store.find("workloads", namespace, group) or {
            "metadata": {"name": group, "namespace": namespace}
        }
        said = [
            {"type": type, "status": status, "reason": "Test", "message": message}
            for type, (status, message) in conditions.items()
        ]
        if (found.get("status") or {}).get("conditions") != said:
            await self._store.put("workloads", {**found, "status": {"conditions": said}})


def _take(pod: Json) -> None:
    """As kueue's webhook: a pod with a queue waits for its admission."""
    labels = pod["metadata"].get("labels") or {}
    if QUEUE in labels:
        labels[MANAGED] = "true"
        pod["metadata"]["finalizers"] = [MANAGED]
        pod["spec"]["schedulingGates"] = [{"name": GATE}]


def _is_active(pod: Json) -> bool:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    return bool(pod["spec"].get("nodeName") or not pod["metadata"].get("deletionTimestamp"))


def _is_gated(pod: Json) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates") or ())


def _cpu(pod: Json) -> Decimal:
    return Decimal(requested(pod["spec"]).get("cpu", 0)) if _is_active(pod) else Decimal(0)
