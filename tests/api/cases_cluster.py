"""Cases of the master's own log, pools, workspaces, and of downloads."""

from __future__ import annotations

import logging

from tests.api.cases_experiments import finished, named, running
from tests.api.samples import Case, World

from determined_master import entropy
from determined_master.logs import RECENT


async def two_warnings(world: World) -> None:
    """A log that begins with two lines."""
    RECENT.entries.clear()
    RECENT._next = 0
    for text in ("one", "two"):
        RECENT.handle(logging.makeLogRecord({"msg": text, "levelno": 30, "levelname": "WARNING"}))


async def labelled(world: World) -> None:
    """An experiment with two labels; `<project_id>` and `<workspace_id>` are its parents."""
    await finished(world)
    world.names |= {"project_id": "1", "workspace_id": "1"}


ONLY_ONE = "there is only the workspace that every cluster has, which nobody can pin yet"
OPTIONAL = frozenset(
    f"{at}.{name}"
    for at in ("workspace", "workspaces[]")
    for name in ("agentUserGroup", "checkpointStorageConfig", "pinnedAt")
)

CASES: dict[str, Case] = {
    "master.logs": Case(two_warnings),
    "experiments.labels": Case(labelled),
    "plain.model_def": Case(finished),
    "plain.checkpoint.404": Case(named(uuid=str(entropy.new_uuid()))),
    "pools.list": Case(
        free=frozenset({"resourcePools[].details.priorityScheduler"}),
        why="the observed pool shared its slots fairly, ours goes by priority",
    ),
    "jobs.v2": Case(running),
    "jobs.v2.again": Case(
        running, free=frozenset({"jobs[].full.entityId"}), why="the observed job was a command's"
    ),
    "workspaces.get": Case(labelled, free=OPTIONAL, why=ONLY_ONE),
    "workspaces.list": Case(labelled, free=OPTIONAL | {"workspaces"}, why=ONLY_ONE),
    "projects.list": Case(labelled, free=frozenset({"projects[].lastExperimentStartedAt"})),
}
