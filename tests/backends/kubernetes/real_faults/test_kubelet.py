"""A kubelet of a bed that restarts while pods run.

Its node is not ready for a moment, and all streams of its pods end: run it alone on the cluster.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.backends.kubernetes.objects import KUBECONFIG
from tests.backends.kubernetes.real_faults.conftest import world_at
from tests.real_kubernetes.programs import restart_of_bed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("a kubelet of a real cluster"),
    pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster"),
]


async def test_a_real_kubelet_that_restarts_loses_no_task(bed: Path, master: int) -> None:
    async with world_at(KUBECONFIG, master) as world:
        await world.open()
        script = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done; exit 5"
        made = world.order(script)
        await world.backend.start_container(made)
        await world.until(lambda: world.events.text(made.container_id), "its output")
        restart_of_bed(bed, "kubelet")
        await world.state(made.container_id, "TERMINATED")
        assert world.events.reports[made.container_id].exit_code == 5
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == list("12345678")
        assert world.events.lost == []
