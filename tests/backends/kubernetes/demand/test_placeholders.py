"""Placeholders that an API server does not admit, and those of a task that starts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.backends.kubernetes.objects import options

from determined_master import clock
from determined_master.backends.kubernetes.client import KubernetesRefused
from determined_master.backends.kubernetes.demand.nodes import node_demand
from determined_master.backends.kubernetes.demand.placeholders import (
    LISTED_AGAIN_S,
    REFUSED_S,
    Placeholders,
)
from determined_master.backends.kubernetes.manifest.placeholder import DEMAND
from determined_master.backends.kubernetes.options import Autoscaling
from determined_master.ports.kubernetes import NodeRequest

REQUEST = NodeRequest(allocation_id="7.x.1", slots=(1, 1))


class Api:
    """Answers calls, and counts them by method."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.refusal: KubernetesRefused | None = None
        self.items: list[dict[str, Any]] = []

    async def call(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        self.calls.append(method)
        if method == "POST" and self.refusal is not None:
            raise self.refusal
        return {"items": self.items}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def placeholders(api: Api) -> Placeholders:
    given = options(autoscaling=Autoscaling(image="pause:1", max_pods=9))
    made = Placeholders(given, api)  # type: ignore[arg-type]
    made.request("default", (REQUEST,))
    return made


async def test_a_refused_placeholder_is_made_again_after_a_minute(
    api: Api, placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.refusal = KubernetesRefused(403, "Forbidden", "violates PodSecurity")
    for _ in range(3):
        await placeholders.reconcile()
    assert api.calls.count("POST") == 2
    assert placeholders.asked("7.x.1") is None
    api.refusal, now_s = None, clock.monotonic_s()
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s + REFUSED_S + 1)
    await placeholders.reconcile()
    assert api.calls.count("POST") == 4
    assert placeholders.asked("7.x.1") is not None


async def test_one_that_others_have_removed_or_ended_is_made_again(
    api: Api, placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    await placeholders.reconcile()
    await placeholders.reconcile()
    assert api.calls == ["GET", "POST", "POST"]
    now_s = clock.monotonic_s()
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s + LISTED_AGAIN_S + 1)
    meta = {"namespace": "default", "name": "old", "annotations": {DEMAND: "7.x.1"}}
    api.items = [{"metadata": meta, "status": {"phase": "Failed"}}]
    await placeholders.reconcile()
    assert api.calls[3:] == ["GET", "DELETE", "POST", "POST"]


async def test_the_placeholders_of_a_task_go_before_its_pods_come(
    api: Api, placeholders: Placeholders
) -> None:
    await placeholders.reconcile()
    await placeholders.release("7.x.2")
    assert "DELETE" not in api.calls
    await placeholders.release("7.x.1")
    assert api.calls.count("DELETE") == 2


async def test_a_cluster_that_does_not_grow_is_not_asked(api: Api) -> None:
    made = node_demand(options(), api)  # type: ignore[arg-type]
    made.request("default", (REQUEST,))
    await made.reconcile()
    await made.release("7.x.1")
    assert (api.calls, made.asked("7.x.1")) == ([], None)
