"""Cases of lists: runs, the search among experiments, columns, series and streams of metrics."""

from __future__ import annotations

import asyncio

from tests.api.cases_experiments import CONFIG_FORM, TRIAL, finished, running
from tests.api.samples import Case, World

METADATA = {"a": 1, "b": {"c": "x", "d": [1, "2", True, None]}, "t": "2026-11-21T05:59:17.792Z"}


async def listed(world: World) -> None:
    """An ended experiment with metrics of all kinds."""
    await finished(world)
    world.names["project_id"] = "1"


async def ranged(world: World) -> None:
    """The same, once its summaries are written: that is done a second later."""
    await listed(world)
    path = "/api/v1/projects/1/experiments/metric-ranges"
    async with asyncio.timeout(60):
        while not (await world.clients["admin"]("GET", path)).json()["ranges"]:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.05)


async def described(world: World) -> None:
    """A run with metadata."""
    await running(world)
    world.names["project_id"] = "1"
    path = f"/api/v1/runs/{world.names['run_id']}/metadata"
    answer = await world.clients["admin"]("POST", path, {"metadata": METADATA})
    assert answer.status == 200, answer.body


async def in_project(world: World) -> None:
    """The same; `<int>` is the project."""
    await listed(world)
    world.names["int"] = "1"


async def of_experiment(world: World) -> None:
    """The same; `<int>` is the experiment."""
    await listed(world)
    world.names["int"] = world.names["experiment_id"]


RUN = frozenset(
    f"runs[].{name}" for name in ("hyperparameters", "summaryMetrics", "metadata", "endTime")
)
FOUND = frozenset(
    {f"experiments[].experiment.{name}" for name in ("config", "hyperparameters", "bestTrialId")}
    | {f"experiments[].{name.replace('trials[]', 'bestTrial')}" for name in TRIAL}
    | {
        f"experiments[].{name}"
        for name in ("experiment.endTime", "experiment.forkedFrom", "bestTrial")
    }
)
THE_NEWEST = "the newest may be one of another sample, which has no metrics yet"
CASES: dict[str, Case] = {
    "projects.columns.run": Case(listed),
    "projects.ranges": Case(ranged),
    "projects.metadata": Case(described),
    "runs.search": Case(in_project, free=RUN | {"runs[].searcherMetricValue"}, why=THE_NEWEST),
    "runs.filter": Case(in_project, free=RUN | {"runs"}, why="the id of the sample is not ours"),
    "runs.sort_bad": Case(in_project),
    "runs.offset_beyond": Case(in_project),
    "experiments.search": Case(in_project, free=FOUND | CONFIG_FORM, why=THE_NEWEST),
    "trials.time_series": Case(
        listed,
        free=frozenset({"trials[].trial.hparams", "trials[].trial.searcherMetricValue"}),
        why="a trial without the searcher's metric has no value of it (wire.md 15, row 10)",
    ),
    "metrics_stream.names": Case(of_experiment),
    "metrics_stream.batches": Case(listed),
    "metrics_stream.snapshot": Case(
        listed, free=frozenset({"[].result.trials"}), why="no trial of ours has reached 4 batches"
    ),
    "metrics_stream.no_name": Case(listed),
}
