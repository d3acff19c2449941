"""Steps go to 2^53 - 1: every view shows them, and what is beyond is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api import cases_detached as detached
from tests.api.samples import World

from determined_master import entropy
from determined_master.domain.metrics.extremes import BLOCK_REPORTS
from determined_wire.bounds import MAX_STEPS

pytestmark = pytest.mark.slow

LARGE = 3_000_000_000
LONG = BLOCK_REPORTS + 100
"""Reports of which some lie in a block, and some after it."""


class Run:
    """A trial in its first run that reports over the API."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.id = 0
        self.experiment_id = 0

    async def start(self) -> None:
        await detached.new_trial(self.world)
        self.id = int(self.world.names["trial_id"])
        await self.send("POST", f"/trials/{self.id}/start", {"resume": False})
        self.experiment_id = (await self.trial())["experimentId"]

    async def send(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.world.clients["admin"](method, f"/api{path_of(path)}", body)
        assert answer.status == 200, answer.body
        return answer.json()

    async def lines(self, path: str) -> list[Any]:
        answer = await self.world.clients["admin"]("GET", f"/api/v1{path}")
        assert answer.status == 200, answer.body
        return [json.loads(line)["result"] for line in answer.body.splitlines() if line]

    async def refusal(self, method: str, path: str, body: Any = None) -> str:
        answer = await self.world.clients["admin"](method, f"/api{path_of(path)}", body)
        assert answer.status == 400, answer.body
        return answer.text

    async def trial(self) -> dict[str, Any]:
        trial: dict[str, Any] = (await self.send("GET", f"/trials/{self.id}"))["trial"]
        return trial

    async def report(self, group: str, *steps: int) -> None:
        reports = [self.body(group, n) for n in steps]
        for start in range(0, len(reports), 500):
            body = {"reports": reports[start : start + 500]}
            answer = await self.send("POST", f"/trials/{self.id}/metrics/batch", body)
            assert {one.get("error") or "" for one in answer.get("results", ())} <= {""}

    def body(self, group: str, steps: int) -> dict[str, Any]:
        values = {"loss": steps % 7 / 4}
        metrics = {
            "trialId": self.id,
            "trialRunId": 1,
            "stepsCompleted": steps,
            "metrics": {"avgMetrics": values},
        }
        return {"group": group, "metrics": metrics}

    async def checkpoint(self, steps: int) -> str:
        uuid = str(entropy.new_uuid())
        body = {
            "taskId": (await self.trial())["taskId"],
            "uuid": uuid,
            "resources": {"a.txt": "1"},
            "metadata": {"steps_completed": steps},
            "state": "STATE_COMPLETED",
        }
        await self.send("POST", "/checkpoints", body)
        return uuid


def path_of(path: str) -> str:
    return path if path.startswith("/ui/") else f"/v1{path}"


@pytest.fixture
async def run(world: World) -> Run:
    made = Run(world)
    await made.start()
    return made


@pytest.mark.parametrize("steps", [LARGE, MAX_STEPS])
async def test_every_view_shows_large_steps(run: Run, steps: int) -> None:
    await run.report("training", steps - 1, steps)
    await run.report("validation", steps)
    uuid = await run.checkpoint(steps)

    trial = await run.trial()
    assert trial["totalBatchesProcessed"] == steps
    assert trial["bestValidation"]["totalBatches"] == steps
    assert trial["latestValidation"]["totalBatches"] == steps
    assert trial["bestCheckpoint"]["totalBatches"] == steps

    workloads = (await run.send("GET", f"/trials/{run.id}/workloads"))["workloads"]
    assert {one["totalBatches"] for w in workloads for one in w.values() if one} == {
        steps - 1,
        steps,
    }
    [checkpoint] = (await run.send("GET", f"/trials/{run.id}/checkpoints"))["checkpoints"]
    assert (checkpoint["uuid"], checkpoint["metadata"]) == (uuid, {"steps_completed": steps})
    best = await run.send("GET", f"/experiments/{run.experiment_id}/checkpoints?sortBy=1")
    assert [one["uuid"] for one in best["checkpoints"]] == [uuid]

    [training] = await run.lines(f"/trials/metrics/training_metrics?trialIds={run.id}")
    assert [one["totalBatches"] for one in training["metrics"]] == [steps - 1, steps]
    [named] = await run.lines(f"/trials/metrics/trial_metrics?trialIds={run.id}&group=validation")
    assert [one["totalBatches"] for one in named["metrics"]] == [steps]

    await run.send("PATCH", f"/trials/{run.id}", {"state": "STATE_COMPLETED"})  # ends the streams
    stream = f"/experiments/{run.experiment_id}/metrics-stream"
    metric = "metricName=loss&group=training"
    batches = await run.lines(f"{stream}/batches?{metric}")
    assert [n for one in batches for n in one["batches"]] == [steps - 1, steps]
    snapshots = await run.lines(
        f"{stream}/trials-snapshot?{metric}&batchesProcessed={steps}&batchesMargin={steps}"
    )
    assert [t["batchesProcessed"] for one in snapshots for t in one["trials"]] == [steps]
    samples = await run.lines(f"{stream}/trials-sample?{metric}&maxTrials=1&endBatches={steps}")
    points = [p["batches"] for one in samples for t in one["trials"] for p in t["data"]]
    assert points == [steps - 1, steps]


@pytest.mark.parametrize("last", [LARGE, MAX_STEPS, 2**31 + 5])
async def test_charts_of_long_series_keep_each_of_large_steps(run: Run, last: int) -> None:
    steps = range(last - LONG + 1, last + 1)
    await run.report("training", *steps)
    for low, high in ((0, 0), (last - 10, last), (steps[0], steps[4])):
        query = f"trialIds={run.id}&metricIds=training.loss&startBatches={low}&endBatches={high}"
        got = await run.send("GET", f"/trials/time-series?{query}&maxDatapoints=5000")
        [series] = got["trials"][0]["metrics"]
        expected = [n for n in steps if low <= n <= (high or last)]
        assert [point["batches"] for point in series["data"]] == expected
    few = await run.send(
        "GET", f"/trials/time-series?trialIds={run.id}&metricIds=training.loss&maxDatapoints=20"
    )
    batches = [point["batches"] for point in few["trials"][0]["metrics"][0]["data"]]
    assert len(batches) <= 20
    assert {steps[0], last} <= set(batches)
    for body in ({}, {"xMin": last - 10}, {"xMax": steps[4]}):
        query = {"trialIds": [run.id], "metrics": [{"group": "training", "name": "loss"}], **body}
        [chart] = (await run.send("POST", "/ui/v1/series", {**query, "buckets": 4000}))["series"]
        low, high = body.get("xMin", 0), body.get("xMax", last)
        assert chart["x"] == [n for n in steps if low <= n <= high]


async def test_steps_beyond_the_bound_are_refused_by_name_and_value(run: Run) -> None:
    beyond = MAX_STEPS + 1
    for path, body in (
        (f"/trials/{run.id}/metrics", run.body("training", beyond)),
        (f"/trials/{run.id}/metrics", run.body("training", -beyond)),
    ):
        text = await run.refusal("POST", path, body)
        assert "stepsCompleted" in text
        assert str(beyond) in text
        assert str(MAX_STEPS) in text
    query = f"trialIds={run.id}&metricIds=training.loss&endBatches={beyond}"
    text = await run.refusal("GET", f"/trials/time-series?{query}")
    assert f"endBatches is {beyond}" in text
    for steps in (beyond, 1e300):
        body = {
            "taskId": (await run.trial())["taskId"],
            "uuid": str(entropy.new_uuid()),
            "resources": {},
            "metadata": {"steps_completed": steps},
            "state": "STATE_COMPLETED",
        }
        text = await run.refusal("POST", "/checkpoints", body)
        assert "steps_completed" in text
        assert str(MAX_STEPS) in text
