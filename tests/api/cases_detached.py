"""Cases of detached experiments and trials."""

from __future__ import annotations

from tests.api.cases_experiments import CONFIG_FORM
from tests.api.samples import Case, World

CONFIG = "name: un\nsearcher: {name: single, metric: loss, max_length: 10}\n"


async def experiment(world: World) -> None:
    """The detached experiment `extexp1`; `<int>` is its id."""
    body = {"config": CONFIG, "unmanaged": True}
    path = "/api/v1/experiments/by-external-id/extexp1"
    answer = await world.clients["admin"]("PUT", path, body)
    assert answer.status == 200, answer.body
    world.names["experiment_id"] = str(answer.json()["experiment"]["id"])
    world.names["int"] = world.names["experiment_id"]


async def named_trial(world: World) -> None:
    """Its trial `ext1`, in whatever state."""
    await experiment(world)
    create = {
        "experimentId": int(world.names["experiment_id"]),
        "hparams": {"a": 2},
        "unmanaged": True,
    }
    body = {"createTrialRequest": create, "externalTrialId": "ext1"}
    answer = await world.clients["admin"]("PUT", "/api/v1/trials", body)
    assert answer.status == 200, answer.body
    world.names["trial_id"] = str(answer.json()["trial"]["id"])


async def new_trial(world: World) -> None:
    """A trial that was never started."""
    await experiment(world)
    body = {"experimentId": int(world.names["experiment_id"]), "unmanaged": True}
    answer = await world.clients["admin"]("POST", "/api/v1/trials", body)
    assert answer.status == 200, answer.body
    world.names["trial_id"] = str(answer.json()["trial"]["id"])


UNREPORTED = frozenset({"trial.searcherMetricValue"})
NO_VALUE = "a trial without the searcher's metric has no value of it (wire.md 15, row 10)"
CASES: dict[str, Case] = {
    "experiments.put_external": Case(
        free=CONFIG_FORM | {"experiment.externalExperimentId"},
        why="the answer names what it was asked for",
    ),
    "trials.create_unmanaged": Case(experiment, free=UNREPORTED, why=NO_VALUE),
    "trials.by_external": Case(named_trial, free=UNREPORTED | {"trial.endTime"}, why=NO_VALUE),
    "trials.patch_unmanaged": Case(named_trial, free=UNREPORTED, why=NO_VALUE),
    "trials.start.resume": Case(new_trial),
    "trials.start.defect": Case(new_trial, free=frozenset({"*"})),
}
