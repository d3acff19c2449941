"""System metrics over the API: samples without steps, by agent and accelerator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.samples import World

pytestmark = pytest.mark.slow


async def send(world: World, method: str, path: str, body: Any = None) -> Any:
    answer = await world.clients["admin"](method, f"/api/v1{path}", body)
    assert answer.status == 200, answer.body
    return answer


def lines(answer: Any) -> list[Any]:
    return [json.loads(line)["result"] for line in answer.body.splitlines()]


def sample(world: World, group: str, values: Any) -> dict[str, Any]:
    metrics = {
        "trialId": int(world.names["trial_id"]),
        "trialRunId": 1,
        "reportTime": "2026-11-21T05:59:17.792Z",
        "metrics": {"avgMetrics": {"a1": values}},
    }
    return {"group": group, "metrics": metrics}


async def test_samples_of_a_group_stand_beside_each_other(world: World) -> None:
    await scene.running(world)
    path = f"/trials/{world.names['trial_id']}"
    for value in (1.0, 2.0):
        await send(world, "POST", f"{path}/metrics", sample(world, "cpu", {"util": value}))
    gpus = {"GPU-1": {"gpu_util": 3.0}, "GPU-2": {"gpu_util": 4.0}}
    reports = [sample(world, "gpu", gpus), sample(world, "gpu", gpus)]
    answer = await send(world, "POST", f"{path}/metrics/batch", {"reports": reports})
    assert answer.json() == {"results": [{"error": ""}, {"error": ""}]}

    labels = lines(await send(world, "GET", f"{path}/profiler/available_series"))[0]["labels"]
    assert [(s["name"], s["agentId"], s["gpuUuid"]) for s in labels] == [
        ("util", "a1", ""),
        ("gpu_util", "a1", "GPU-1"),
        ("gpu_util", "a1", "GPU-2"),
    ]
    assert {s["metricType"] for s in labels} == {"PROFILER_METRIC_TYPE_SYSTEM"}
    query = "labels.name=gpu_util&labels.gpuUuid=GPU-2"
    [points] = lines(await send(world, "GET", f"{path}/profiler/metrics?{query}"))
    assert points["batch"]["values"] == [4.0, 4.0]
    every = lines(await send(world, "GET", f"{path}/profiler/metrics"))
    assert [(e["batch"]["labels"]["name"], e["batch"]["values"]) for e in every] == [
        ("util", [1.0, 2.0]),
        ("gpu_util", [3.0, 3.0]),
        ("gpu_util", [4.0, 4.0]),
    ]
    query = f"group=cpu&trialIds={world.names['trial_id']}"
    [page] = lines(await send(world, "GET", f"/trials/metrics/trial_metrics?{query}"))
    found = [m["metrics"]["avg_metrics"] for m in page["metrics"]]
    assert found == [{"a1": {"util": 1}}, {"a1": {"util": 2}}]
    trial = (await send(world, "GET", path)).json()["trial"]
    assert trial["summaryMetrics"] == {}
    assert trial["totalBatchesProcessed"] == 0


async def test_a_group_of_ones_own_with_such_a_name_has_steps(world: World) -> None:
    await scene.running(world)
    path = f"/trials/{world.names['trial_id']}"
    report = sample(world, "memory", {"recalled": 1})
    report["metrics"]["stepsCompleted"] = 4
    await send(world, "POST", f"{path}/metrics", report)
    summary = (await send(world, "GET", path)).json()["trial"]["summaryMetrics"]
    assert list(summary) == ["memory"]


async def test_batches_of_older_profilers_are_read_back(world: World) -> None:
    await scene.running(world)
    trial_id = int(world.names["trial_id"])
    labels = {
        "trialId": trial_id,
        "name": "dataloader_next",
        "agentId": "a1",
        "metricType": "PROFILER_METRIC_TYPE_TIMING",
    }
    batch = {
        "values": [0.5, "NaN"],
        "batches": [7, 8],
        "timestamps": ["2026-11-21T05:59:17Z", "2026-11-21T05:59:18Z"],
        "labels": labels,
    }
    await send(world, "POST", "/trials/profiler/metrics", {"batches": [batch]})
    path = f"/trials/{trial_id}/profiler/metrics?labels.metricType=PROFILER_METRIC_TYPE_TIMING"
    [found] = lines(await send(world, "GET", path))
    assert found["batch"]["labels"] == {**labels, "gpuUuid": ""}
    assert found["batch"]["batches"][0] == 7
    path = f"/trials/{trial_id}/profiler/metrics?labels.metricType=PROFILER_METRIC_TYPE_SYSTEM"
    assert lines(await send(world, "GET", path)) == []
    uneven = {**batch, "timestamps": []}
    answer = await world.clients["admin"](
        "POST", "/api/v1/trials/profiler/metrics", {"batches": [uneven]}
    )
    assert answer.status == 400
    assert "2 values, 0 timestamps" in answer.text


async def test_a_followed_stream_ends_with_the_trial(world: World) -> None:
    await scene.finished(world)
    path = f"/trials/{world.names['trial_id']}/profiler/available_series?follow=true"
    assert lines(await send(world, "GET", path)) == [{"labels": []}]


async def test_devices_are_logged_once_however_often_they_are_reported(world: World) -> None:
    await scene.running(world)
    data = {"containerId": world.names["container_id"], "nodeName": "n", "acceleratorUuids": ["u"]}
    path = f"/allocations/{world.names['allocation_id']}/acceleratorData"
    for _ in range(2):
        await send(world, "POST", path, {"acceleratorData": data})
    answer = await send(world, "GET", f"/tasks/{world.names['task_id']}/acceleratorData")
    [found] = answer.json()["acceleratorData"]
    assert found["acceleratorUuids"] == ["u"]
    assert found["allocationId"] == world.names["allocation_id"]
    assert found["resourcePool"] == "default"
    nobody = await send(world, "GET", "/tasks/nobody/acceleratorData")
    assert nobody.json() == {"acceleratorData": []}
