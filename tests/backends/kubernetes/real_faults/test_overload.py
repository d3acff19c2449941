"""A real API server that answers some calls with failures, by a proxy that stands before it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.backends.kubernetes.objects import KUBECONFIG
from tests.backends.kubernetes.real_faults.conftest import world_at
from tests.contracts.kubernetes_contract import World
from tests.contracts.kubernetes_faults_contract import FaultsContract
from tests.real_kubernetes.fault_proxy import FaultProxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("failures of a real API server"),
    pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster"),
]


class TestFaultsBeforeARealServer(FaultsContract):
    @pytest.fixture
    async def server(self) -> AsyncIterator[FaultProxy]:
        made = FaultProxy(KUBECONFIG)
        await made.start()
        yield made
        await made.stop()

    @pytest.fixture
    async def world(self, server: FaultProxy, master: int, tmp_path: Path) -> AsyncIterator[World]:
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        # A call of the test must not meet a failure that is meant for the master.
        async with world_at(str(kubeconfig), master, looks_by=KUBECONFIG) as made:
            await made.open()
            yield made
