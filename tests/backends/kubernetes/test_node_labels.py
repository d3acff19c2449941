"""Labels of disabled nodes: whose switch changes them."""

from __future__ import annotations

from typing import Any

from tests.backends.kubernetes.objects import CLUSTER_ID, options

from determined_master.backends.kubernetes.node_labels import NodeLabels
from determined_master.domain.machines.agent_switches import ALL_ON, Switches

KEY = f"determined.ai/cluster-id-{CLUSTER_ID}"
DRAINING = Switches(is_draining=True)


class Nodes:
    """Nodes a and b, and an API that changes their labels."""

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, str]] = {"a": {}, "b": {}}

    async def call(self, method: str, path: str, body: Any, **more: Any) -> None:
        own = self.labels[path.rpartition("/")[2]]
        for key, value in body["metadata"]["labels"].items():
            if value is None:
                own.pop(key)
            else:
                own[key] = value


async def test_the_label_of_a_script_stays_until_its_own_node_is_enabled() -> None:
    nodes = Nodes()
    labels = NodeLabels(options(), nodes, lambda: nodes.labels)  # type: ignore[arg-type]
    labels.set_switches({"a": DRAINING})
    await labels.reconcile()
    labels.set_switches({"a": ALL_ON})
    await labels.reconcile()
    assert nodes.labels == {"a": {}, "b": {}}
    nodes.labels["a"][KEY] = "no-schedule"
    labels.set_switches({"b": DRAINING})
    await labels.reconcile()
    assert nodes.labels["a"] == nodes.labels["b"] == {KEY: "no-schedule"}
    labels.set_switches({"b": DRAINING, "a": ALL_ON})
    await labels.reconcile()
    assert nodes.labels["a"] == {}
