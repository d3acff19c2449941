"""Cases of what becomes of ended experiments."""

from __future__ import annotations

from tests.api.cases_experiments import CONFIG_FORM, ended, paused
from tests.api.samples import Case, World

async def in_project(world: World) -> None:
    """An ended experiment of project 1."""
    await ended(world)
    world.names["project_id"] = "1"


CASES: dict[str, Case] = {
    "experiments.continue": Case(
        ended, free=CONFIG_FORM | {"experiment.trialIds", "experiment.modelDefinitionSize"}
    ),
    "experiments.continue.multi": Case(ended),
    "experiments.patch.bad_priority": Case(paused, phrase="resources.priority"),
    "experiments.bulk": Case(in_project),
}
