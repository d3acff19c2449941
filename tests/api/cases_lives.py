"""Cases of what becomes of ended experiments."""

from __future__ import annotations

from tests.api.cases_experiments import CONFIG_FORM, ended, paused
from tests.api.samples import Case, World


async def in_project(world: World) -> None:
    """An ended experiment of project 1."""
    await ended(world)
    world.names["project_id"] = "1"


async def collectable(world: World) -> None:
    """An ended experiment; `<uuid>` is nobody's checkpoint."""
    await ended(world)
    world.names["uuid"] = "00000000-0000-4000-8000-000000000000"


CASES: dict[str, Case] = {
    "experiments.continue": Case(
        ended, free=CONFIG_FORM | {"experiment.trialIds", "experiment.modelDefinitionSize"}
    ),
    "experiments.continue.multi": Case(ended),
    "experiments.patch.bad_priority": Case(paused, phrase="resources.priority"),
    "experiments.delete.active": Case(paused),
    "experiments.retain_logs": Case(paused),
    "checkpoints.delete.404": Case(collectable),
    "plain.preview_gc": Case(
        ended, free=frozenset({"checkpoints"}), why="the observed null breaks the client's list"
    ),
    "plain.preview_gc.missing": Case(ended),
    "experiments.bulk": Case(in_project),
}
