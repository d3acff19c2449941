"""Hollow nodes of a real Kubernetes cluster: they accept pods, and run nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.cluster_api import until
from tests.e2e.hollow_node import hollow_node
from tests.e2e.pods import HOLLOW, KUBECONFIG

from bench.kubernetes_api import Api
from determined_master.backends.kubernetes.client import MERGE_PATCH, KubernetesRefused

LABEL = "determined.test/hollow"
JOIN_LIMIT_S = 300.0


@contextlib.contextmanager
def hollow_nodes(count: int, api: Api, directory: Path) -> Iterator[None]:
    """So many ready nodes with the label `LABEL`; their logs lie in the directory."""
    names = [f"hollow-{number}" for number in range(count)]
    with contextlib.ExitStack() as stack:
        try:
            for name in names:
                stack.enter_context(hollow_node(HOLLOW, name, KUBECONFIG, directory))
            for name in names:
                _wait_for(api, name)
            yield
        finally:
            for name in names:
                with contextlib.suppress(KubernetesRefused):
                    api.call("DELETE", f"/api/v1/nodes/{name}")


def _wait_for(api: Api, name: str) -> None:
    """Wait until a node is ready, and label it."""

    def is_ready() -> bool:
        try:
            found = api.call("GET", f"/api/v1/nodes/{name}")
        except KubernetesRefused:
            return False
        return _is_ready(found)

    until(is_ready, JOIN_LIMIT_S, f"node {name}")
    body = {"metadata": {"labels": {LABEL: "true"}}}
    api.call("PATCH", f"/api/v1/nodes/{name}", body=body, content_type=MERGE_PATCH)


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
