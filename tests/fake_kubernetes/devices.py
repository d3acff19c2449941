"""Dynamic Resource Allocation: its controller of claims, and its part of the scheduler."""

from __future__ import annotations

import asyncio

from tests.fake_kubernetes.server import FakeServer
from tests.fake_kubernetes.store import Json

from determined_master.domain.pods.devices.cel import CelSelector, Undecided, selector
from determined_master.domain.pods.devices.counts import reaches
from determined_master.domain.pods.devices.slices import DeviceFacts, slice_of, whole_pool
from determined_master.domain.pods.placement import facts_of

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"


class FakeDevices:
    """Those of one cluster."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._store = server.store
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def allocate(self, pod: Json, node: str) -> bool:
        """Allocate all claims of a pod on a node; false while that is not possible."""
        claims = [self._claim_of(pod, one) for one in pod["spec"].get("resourceClaims") or ()]
        found = self._store.find("nodes", "", node)
        if found is None or any(claim is None for claim in claims):
            return False
        chosen: list[tuple[Json, list[tuple[str, DeviceFacts]]]] = []
        taken = self._held()
        for claim in claims:
            assert claim is not None
            if (claim.get("status") or {}).get("allocation"):
                continue
            devices = self._choose(claim, found, taken)
            if devices is None:
                return False
            taken |= {device.id for _, device in devices}
            chosen.append((claim, devices))
        for claim, devices in chosen:
            results = [
                {"request": request, "driver": d.id.driver, "pool": d.id.pool, "device": d.id.name}
                for request, d in devices
            ]
            user = {"resource": "pods", "name": pod["metadata"]["name"]}
            reserved = [{**user, "uid": pod["metadata"]["uid"]}]
            allocation = {"devices": {"results": results}}
            claim["status"] = {"allocation": allocation, "reservedFor": reserved}
            await self._store.put("resourceclaims", claim)
        return True

    def _choose(
        self, claim: Json, node: Json, taken: set[object]
    ) -> list[tuple[str, DeviceFacts]] | None:
        """Devices for all requests of a claim; None when there are too few."""
        found: list[tuple[str, DeviceFacts]] = []
        used = set(taken)
        for request in claim["spec"]["devices"]["requests"]:
            exact = request.get("exactly") or request
            kind = self._store.find("deviceclasses", "", exact["deviceClassName"])
            if kind is None:
                return None
            given = [*kind["spec"].get("selectors", ()), *exact.get("selectors", ())]
            selectors = [selector(one["cel"]["expression"]) for one in given]
            for _ in range(int(exact.get("count") or 1)):
                device = next(
                    (
                        d
                        for d in self._devices()
                        if d.id not in used
                        and not d.is_tainted
                        and reaches(d.reach, facts_of(node))
                        and _meets(d, selectors)
                    ),
                    None,
                )
                if device is None:
                    return None
                used.add(device.id)
                found.append((request["name"], device))
        return found

    def _devices(self) -> list[DeviceFacts]:
        pools: dict[object, list[Json]] = {}
        for item in self._store.list("resourceslices", None, {}):
            pools.setdefault(slice_of(item).pool, []).append(item)
        whole = (whole_pool(map(slice_of, items)) for items in pools.values())
        return [device for pool in whole if pool is not None for device in pool.devices]

    def _held(self) -> set[object]:
        """The devices that are allocated for use."""
        found: set[object] = set()
        for item in self._store.list("resourceclaims", None, {}):
            allocation = (item.get("status") or {}).get("allocation") or {}
            for one in (allocation.get("devices") or {}).get("results") or ():
                if not one.get("adminAccess"):
                    found.add((one["driver"], one["pool"], one["device"]))
        return found

    def _claim_of(self, pod: Json, entry: Json) -> Json | None:
        namespace = pod["metadata"]["namespace"]
        if entry.get("resourceClaimName"):
            return self._store.find("resourceclaims", namespace, entry["resourceClaimName"])
        name = f"{pod['metadata']['name']}-{entry['name']}-x1"
        return self._store.find("resourceclaims", namespace, name)

    async def _run(self) -> None:
        seen = -1
        while True:
            async with self._store.news:
                await self._store.news.wait_for(lambda: self._store.version > seen)  # noqa: B023
            seen = self._store.version
            await self._reconcile()

    async def _reconcile(self) -> None:
        """Make the claims of templates, and release those of pods that are over."""
        pods = {
            item["metadata"]["uid"]: item
            for (kind, _, _), item in self._store.objects.items()
            if kind == "pods"
        }
        for pod in pods.values():
            for entry in pod["spec"].get("resourceClaims") or ():
                if entry.get("resourceClaimTemplateName") and not _is_over(pod):
                    await self._make(pod, entry)
        for key, claim in list(self._store.objects.items()):
            if key[0] != "resourceclaims":
                continue
            reserved = (claim.get("status") or {}).get("reservedFor") or ()
            valid = [
                one for one in reserved if one["uid"] in pods and not _is_over(pods[one["uid"]])
            ]
            if not reserved or valid:
                continue
            if (claim["metadata"].get("annotations") or {}).get(POD_CLAIM):
                await self._store.remove(*key)
            else:
                claim["status"] = {}
                await self._store.put("resourceclaims", claim)

    async def _make(self, pod: Json, entry: Json) -> None:
        meta = pod["metadata"]
        template = self._store.find(
            "resourceclaimtemplates", meta["namespace"], entry["resourceClaimTemplateName"]
        )
        if template is None or self._claim_of(pod, entry) is not None:
            return
        owner = {"kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
        made = {
            "metadata": {
                "name": f"{meta['name']}-{entry['name']}-x1",
                "namespace": meta["namespace"],
                "annotations": {POD_CLAIM: entry["name"]},
                "ownerReferences": [owner],
            },
            "spec": template["spec"]["spec"],
        }
        await self._store.put("resourceclaims", made)


def _meets(device: DeviceFacts, selectors: list[CelSelector]) -> bool:
    try:
        return all(one.matches(device.variable) for one in selectors)
    except Undecided:
        return False


def _is_over(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
