"""Cases of what the machines of trials have and do."""

from __future__ import annotations

from tests.api import cases_experiments as scene
from tests.api.samples import Case, World


async def with_devices(world: World) -> None:
    """A running trial whose container has told of its devices."""
    await scene.running(world)
    data = {
        "containerId": world.names["container_id"],
        "nodeName": "a1",
        "acceleratorType": "cpu",
        "acceleratorUuids": ["u"],
    }
    path = f"/api/v1/allocations/{world.names['allocation_id']}/acceleratorData"
    answer = await world.clients["admin"]("POST", path, {"acceleratorData": data})
    assert answer.status == 200, answer.body


CASES: dict[str, Case] = {
    "profiler.series": Case(scene.finished),
    "task.accelerator.get": Case(
        with_devices, free=frozenset({"acceleratorData[].acceleratorUuids"})
    ),
}
