"""Labels of disabled nodes: whose switch changes them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.backends.kubernetes.objects import CLUSTER_ID, options
from tests.covers import covers

from determined_master.backends.kubernetes.client import KubernetesRefused
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


@covers("helm-and-kubernetes 3.nodes 19.forbidden")
async def test_an_account_that_may_not_patch_nodes_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked: list[str] = []

    class Refusing(Nodes):
        async def call(self, method: str, path: str, body: Any, **more: Any) -> None:
            asked.append(path)
            raise KubernetesRefused(403, "Forbidden", "cannot patch nodes")

    nodes = Refusing()
    labels = NodeLabels(options(), nodes, lambda: nodes.labels)  # type: ignore[arg-type]
    labels.set_switches({"a": DRAINING, "b": DRAINING})
    for _ in range(3):
        await labels.reconcile()
    assert asked == ["/api/v1/nodes/a"]
    assert caplog.text.count("disabled nodes get no label: ") == 1
    assert "cannot patch nodes" in caplog.text
