"""Namespaces of a cluster: the calls of the backend, and the cluster in memory."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.contracts.namespaces_contract import Namespaced, NamespacesContract
from tests.covers import covers
from tests.fake_kubernetes.server import FakeServer
from tests.namespaces_in_memory import ClusterInMemory

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import KubernetesApi, KubernetesRefused
from determined_master.backends.kubernetes.namespaces import GPU_REQUESTS, NamespaceCalls
from determined_master.entropy import new_uuid

KUBECONFIG = os.environ.get("DET_TEST_KUBECONFIG", "")


class TestInMemory(NamespacesContract):
    """The cluster of other tests."""

    @pytest.fixture
    def cluster(self) -> Namespaced:
        made = ClusterInMemory()

        async def add_namespace(name: str) -> None:
            made.namespaces[name] = {}

        async def add_quota(namespace: str, name: str, gpus: int) -> None:
            made.namespaces[namespace][name] = gpus

        def break_it() -> None:
            made.is_broken = True

        def refuse() -> None:
            made.is_refusing = True

        return Namespaced(made, add_namespace, add_quota, break_it, refuse)


class TestCalls(NamespacesContract):
    """What the backend asks of an API server."""

    @pytest.fixture
    async def cluster(self, tmp_path: Path) -> AsyncIterator[Namespaced]:
        server = FakeServer()
        await server.start()
        api = KubernetesApi(str(server.kubeconfig(tmp_path / "kubeconfig")), call_s=5.0)

        async def add_namespace(name: str) -> None:
            await server.store.put("namespaces", {"metadata": {"name": name}})

        async def add_quota(namespace: str, name: str, gpus: int) -> None:
            meta = {"name": name, "namespace": namespace}
            hard = {"hard": {GPU_REQUESTS: str(gpus)}}
            await server.store.put("resourcequotas", {"metadata": meta, "spec": hard})

        def break_it() -> None:
            server.broken = True

        def refuse() -> None:
            said = "namespaces is forbidden"
            server.refusals[("POST", "namespaces")] = (403, "Forbidden", said)

        calls = NamespaceCalls(api, "cluster-a")
        yield Namespaced(calls, add_namespace, add_quota, break_it, refuse)
        await api.close()
        await server.stop()


@covers("helm-and-kubernetes 16.label")
async def test_made_namespaces_and_quotas_are_found_by_the_label_of_scripts(
    tmp_path: Path,
) -> None:
    server = FakeServer()
    await server.start()
    api = KubernetesApi(str(server.kubeconfig(tmp_path / "kubeconfig")), call_s=5.0)
    try:
        calls = NamespaceCalls(api, "cluster-a")
        await calls.create_namespace("lab")
        await calls.set_quota("lab", 4)
        namespace = server.store.find("namespaces", "", "lab")
        quota = server.store.find("resourcequotas", "lab", "lab-quota")
        assert namespace is not None
        assert quota is not None
        assert namespace["metadata"]["labels"]["determined"] == "lab"
        assert quota["metadata"]["labels"]["determined"] == "lab"
        assert quota["spec"]["hard"] == {"requests.nvidia.com/gpu": "4"}
    finally:
        await api.close()
        await server.stop()


@pytest.mark.slow
@pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster")
class TestCallsOfARealCluster(NamespacesContract):
    """The same of a real one: who has no token may do nothing there."""

    @pytest.fixture
    async def cluster(self, tmp_path: Path) -> AsyncIterator[Namespaced]:
        owner, theirs = str(new_uuid()), []
        api = KubernetesApi(KUBECONFIG)
        calls = NamespaceCalls(api, owner)
        others: list[KubernetesApi] = []

        async def add_namespace(name: str) -> None:
            theirs.append(name)
            await api.call("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})

        async def add_quota(namespace: str, name: str, gpus: int) -> None:
            hard = {"hard": {GPU_REQUESTS: str(gpus)}}
            path = f"/api/v1/namespaces/{namespace}/resourcequotas"
            await api.call("POST", path, body={"metadata": {"name": name}, "spec": hard})

        def use(change: dict[str, dict[str, str]]) -> None:
            found = YAML(typ="safe", pure=True).load(Path(KUBECONFIG))
            for part, values in change.items():
                kept = found[f"{part}s"][0][part] if values else {}
                found[f"{part}s"][0][part] = {**kept, **values}
            path = tmp_path / "kubeconfig"
            path.write_text(json.dumps(found))
            others.append(KubernetesApi(str(path), call_s=5.0))
            calls._api = others[-1]

        yield Namespaced(
            calls,
            add_namespace,
            add_quota,
            lambda: use({"cluster": {"server": "https://127.0.0.1:1"}}),
            lambda: use({"user": {}}),
        )
        query = {"labelSelector": f"{names.CLUSTER}={owner}"}
        made = (await api.call("GET", "/api/v1/namespaces", query=query))["items"]
        for name in [*theirs, *(item["metadata"]["name"] for item in made)]:
            try:
                await api.call("DELETE", f"/api/v1/namespaces/{name}")
            except KubernetesRefused as error:
                if error.status not in (404, 409):
                    raise
        for each in (api, *others):
            await each.close()
