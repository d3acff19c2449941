"""Namespaces of a cluster: the calls of the backend, and the cluster in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contracts.namespaces_contract import Namespaced, NamespacesContract
from tests.fake_kubernetes.server import FakeServer
from tests.namespaces_in_memory import ClusterInMemory

from determined_master.backends.kubernetes.client import KubernetesApi
from determined_master.backends.kubernetes.namespaces import GPU_REQUESTS, NamespaceCalls


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
