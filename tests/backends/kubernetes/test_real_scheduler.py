"""The domain and Kubernetes' own scheduler agree about the nodes that a pod can run on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from tests.backends.kubernetes.objects import KUBECONFIG

from determined_master.backends.kubernetes.client import MERGE_PATCH, KubernetesApi
from determined_master.backends.kubernetes.manifest.layers import with_node
from determined_master.domain.pods.needs import needs_of, requested
from determined_master.domain.pods.placement import facts_of, misfit
from determined_master.domain.pods.quantities import Amounts, total
from determined_master.entropy import new_uuid

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("kubernetes"),
    pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster"),
]
Json = dict[str, Any]
KEYS, VALUES = ["zone", "gen", "gpu-type"], ["a", "5", "7", "h100"]


class Chance:
    """Draws nodes and pods that Kubernetes' API accepts."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def some(self, most: int) -> range:
        return range(self.random.randint(0, most))

    def node(self, name: str) -> Json:
        pick = self.random.choice
        labels = {key: pick(VALUES) for key in KEYS if self.random.random() < 0.6}
        taints = {
            (pick(["team", "kind"]), pick(["NoSchedule", "NoExecute", "PreferNoSchedule"])): pick(
                ["", "x", "y"]
            )
            for _ in self.some(2)
        }
        spec: Json = {
            "taints": [{"key": k, "effect": e, "value": v} for (k, e), v in taints.items()]
        }
        if self.random.random() < 0.1:
            spec["unschedulable"] = True
        offered = {
            "cpu": pick(["2", "3500m", "8"]),
            "memory": pick(["4Gi", "8000M", "1e10"]),
            "ephemeral-storage": pick(["1Gi", "20Gi"]),
            "pods": pick(["3", "110"]),
            "example.com/fpga": pick(["0", "2"]),
        }
        condition = {"type": "Ready", "status": "True", "reason": "x", "message": "x"}
        status = {"capacity": offered, "allocatable": offered, "conditions": [condition]}
        return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}

    def pod_spec(self) -> Json:
        spec: Json = {"containers": [self.container(f"c{n}") for n in range(self.one_or_two())]}
        spec["initContainers"] = [self.container(f"i{n}") for n in self.some(1)]
        if self.random.random() < 0.3:
            spec["nodeSelector"] = {self.random.choice(KEYS): self.random.choice(VALUES)}
        if self.random.random() < 0.5:
            terms = [self.term() for _ in range(self.one_or_two())]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {}}
            required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = terms
            spec["affinity"] = {"nodeAffinity": required}
        spec["tolerations"] = [self.toleration() for _ in self.some(3)]
        return spec

    def one_or_two(self) -> int:
        return self.random.randint(1, 2)

    def container(self, name: str) -> Json:
        pick, given = self.random.choice, self.random.random
        requests: Json = {}
        if given() < 0.5:
            requests["cpu"] = pick(["100m", "1", "1500m", "4"])
        if given() < 0.5:
            requests["memory"] = pick(["64Mi", "2Gi", "5000M", "9e9"])
        if given() < 0.2:
            requests["ephemeral-storage"] = pick(["100Mi", "2Gi"])
        device = {"example.com/fpga": pick(["1", "3"])} if given() < 0.2 else {}
        part = pick(["requests", "limits"])
        resources = {part: requests} if not device else {part: {**requests, **device}}
        if device:
            resources["limits"] = {**resources.get("limits", {}), **device}
        return {"name": name, "image": "nowhere.invalid/missing:1", "resources": resources}

    def term(self) -> Json:
        return {"matchExpressions": [self.expression() for _ in range(self.one_or_two())]}

    def expression(self) -> Json:
        pick = self.random.choice
        operator = pick(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
        found: Json = {"key": pick(KEYS), "operator": operator}
        if operator in ("In", "NotIn"):
            found["values"] = [pick(VALUES) for _ in range(self.one_or_two())]
        elif operator in ("Gt", "Lt"):
            found["values"] = [pick(["4", "6", "10"])]
        return found

    def toleration(self) -> Json:
        pick = self.random.choice
        key = pick(["team", "kind", "node.kubernetes.io/unschedulable", ""])
        found: Json = {"operator": "Exists" if not key else pick(["Exists", "Equal"])}
        if key:
            found["key"] = key
        if found["operator"] == "Equal":
            found["value"] = pick(["", "x", "y"])
        if self.random.random() < 0.5:
            found["effect"] = pick(["NoSchedule", "NoExecute"])
        return found


@pytest.fixture
async def api() -> AsyncIterator[KubernetesApi]:
    made = KubernetesApi(KUBECONFIG)
    yield made
    await made.close()


@pytest.fixture
async def namespace(api: KubernetesApi) -> AsyncIterator[str]:
    name = f"det-test-{new_uuid().hex[:8]}"
    await api.call("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
    yield name
    await api.call("DELETE", f"/api/v1/namespaces/{name}")


async def placed(api: KubernetesApi, namespace: str, name: str) -> bool:
    """What the scheduler decides about a pod."""
    async with asyncio.timeout(60):
        while True:
            found = await api.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
            if found["spec"].get("nodeName"):
                return True
            conditions = (found.get("status") or {}).get("conditions") or ()
            if any(c.get("reason") == "Unschedulable" for c in conditions):
                return False
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("seed", range(12))
async def test_a_real_scheduler_places_pods_where_the_domain_says(
    api: KubernetesApi, namespace: str, seed: int
) -> None:
    chance, name = Chance(seed), f"det-test-{new_uuid().hex[:8]}"
    node = chance.node(name)
    await api.call("POST", "/api/v1/nodes", body=node)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    used: Amounts = {}
    verdicts = []
    try:
        body = {"status": node["status"]}
        path = f"/api/v1/nodes/{name}/status"
        await api.call("PATCH", path, body=body, content_type=MERGE_PATCH)
        for n in range(40):
            spec = chance.pod_spec()
            # the controllers add taints of their own for a node without a kubelet
            facts = facts_of(await api.call("GET", f"/api/v1/nodes/{name}"))
            expected = misfit(needs_of({"spec": spec}), facts, used)
            pinned = {**spec, "affinity": with_node(spec.get("affinity"), name)}
            pod = {"metadata": {"name": f"p{n}"}, "spec": pinned}
            await api.call("POST", pods, body=pod)
            is_placed = await placed(api, namespace, f"p{n}")
            if facts_of(await api.call("GET", f"/api/v1/nodes/{name}")) != facts:
                # One of those came or went meanwhile: the scheduler saw another node.
                await api.call("DELETE", f"{pods}/p{n}", query={"gracePeriodSeconds": "0"})
                continue
            assert is_placed is (expected is None), (expected, spec, node, used)
            verdicts.append(is_placed)
            if is_placed and n % 4 == 0:
                used = total([used, {**requested(spec), "pods": 1}])
            else:
                zero = {"gracePeriodSeconds": "0"}
                await api.call("DELETE", f"{pods}/p{n}", query=zero)
    finally:
        await api.call("DELETE", f"/api/v1/nodes/{name}")
    assert set(verdicts) == {True, False}
